"""What a rank's attention needs of micro-batches, made once for all layers."""

from __future__ import annotations

from collections import OrderedDict

from evenpack._native import MicroBatch
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.native_worker import _worker

# Forms of attention times micro-batches under way in a pipeline; a few would do.
_KEPT = 256


class PreparedMicroBatches:
    """Those used last, of one rank. One thread at a time."""

    def __init__(self, cp_rank: int, *, keys_together: bool = False) -> None:
        """Of a rank, as its engine has its keys."""
        self._cp_rank = cp_rank
        self._keys_together = keys_together
        # With the micro-batch, which so keeps its identity.
        self._kept: OrderedDict[
            tuple[int, AttentionForm], tuple[MicroBatch, _worker.Prepared]
        ] = OrderedDict()

    def of(self, micro_batch: MicroBatch, form: AttentionForm) -> _worker.Prepared:
        """Prepares it, or did before. InvalidArgumentError: the form can't be."""
        name = (id(micro_batch), form)
        found = self._kept.get(name)
        if found is None:
            prepared = _worker.Prepared.make(
                micro_batch.plan,
                self._cp_rank,
                form.native(),
                micro_batch.index,
                keys_together=self._keys_together,
            )
            self._kept[name] = found = (micro_batch, prepared)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        return found[1]

    def clear(self) -> None:
        """None of them comes again."""
        self._kept.clear()
