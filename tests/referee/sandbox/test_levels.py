"""Words of the sandbox: levels, what is opened, and what a record says of them."""

import pytest

from referee.sandbox.levels import Sandbox, SandboxError, read_allow


def test_what_is_opened_is_one_of_five_things() -> None:
    words = ["network", "read:/data/nets", "variable:LICENSE", "network"]
    assert read_allow(words) == ("network", "read:/data/nets", "variable:LICENSE")
    for wrong in ("net", "read:", "read:/", "read:nets", "variable:", "variable:A B", "read:/a\0"):
        with pytest.raises(SandboxError):
            read_allow([wrong])


def test_a_record_says_what_is_not_usual() -> None:
    assert str(Sandbox("default")) == "default"
    opened = Sandbox("strict", ("network", "read:/data"), memory=2048, processes=8)
    assert str(opened) == "strict; allow network, read:/data; memory 2048 MiB; processes 8"
    assert opened.readable == ("/data",) and opened.variables == ()
