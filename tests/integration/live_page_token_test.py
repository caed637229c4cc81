"""The live page of a server with roles."""

from __future__ import annotations

import hashlib
import tempfile
import unittest
from pathlib import Path

from live_page_case import LivePageCase
from server_process import ServerProcess


class TokenTest(LivePageCase):
    def test_a_server_with_roles_is_shown_to_who_has_a_token(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        roles = Path(folder, "roles.yaml")
        token = hashlib.sha256(b"a-token").hexdigest()
        grant = f"{{role: consumer, jobs: ['*'], tokens: ['me:{token}']}}"
        roles.write_text(f"grants: [{grant}]\n")
        self.server = self.enterContext(ServerProcess("--roles", f"{roles}"))
        self.expected_complaints = ("Failed to load resource: the server responded",)
        view = self.open()
        field = view.page.get_by_label("Token")
        field.fill("wrong")
        view.page.get_by_role("button", name="Show jobs").click()
        view.await_true("() => !document.getElementById('banner').hidden")
        field.fill("a-token")
        view.page.get_by_role("button", name="Show jobs").click()
        view.await_true("() => document.getElementById('token').hidden")
        view.await_true("() => document.body.innerText.includes('No job yet')")
        view.page.reload()
        view.await_true("() => document.body.innerText.includes('No job yet')")
        self.assertTrue(view.evaluate("() => document.getElementById('token').hidden"))


if __name__ == "__main__":
    unittest.main()
