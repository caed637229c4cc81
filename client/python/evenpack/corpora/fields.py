"""Which fields of a record, or columns of a table, a document is made of."""

from __future__ import annotations

from dataclasses import dataclass, fields

from evenpack.invalid_argument import checked_text, invalid_argument


@dataclass(frozen=True)
class Fields:
    """Names of fields; exactly one of the first three is needed.

    Attributes:
        text: a text, which a tokenizer makes tokens of.
        tokens: a list of token ids.
        length: a count of tokens; such a corpus has no tokens.
        id: a whole number, the producer's label of the document.
        loss_tokens: how many tokens count in the loss, 0 to all.
        source: a number for where the document comes from, 0 to 2^32 - 1.
    """

    text: str | None = None
    tokens: str | None = None
    length: str | None = None
    id: str | None = None
    loss_tokens: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        """Checks that there is one content.

        Raises:
            InvalidArgumentError: none of text, tokens and length, or several; a name
                that is no str.
        """
        for each in fields(self):
            if getattr(self, each.name) is not None:
                checked_text(f"fields.{each.name}", getattr(self, each.name))
        given = [name for name in ("text", "tokens", "length") if getattr(self, name)]
        if len(given) != 1:
            value = ", ".join(given) or "none of them"
            raise invalid_argument("fields", value, "one of text, tokens, length")

    @property
    def content(self) -> str:
        """The field that says how long a document is."""
        return self.text or self.tokens or self.length or ""

    def names(self) -> list[str]:
        """All that are named, each once."""
        named = (self.content, self.id, self.loss_tokens, self.source)
        return list(dict.fromkeys(name for name in named if name))
