"""A Dask cluster behind TLS with a certificate that is made here, by the commands of docs/how-to/run-a-cluster.md."""

import gc
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.referee.ladder.dask_pool import DaskPool
from ggp.referee.match.pool import WorkersLost
from tests.referee.ladder.test_dask_pool import play, whole
from tests.support import ROOT
from tests.support.codes import raises
from tests.support.dask_cluster import DaskCluster
from tests.support.series import make_setup

pytestmark = [pytest.mark.slow, pytest.mark.needs("openssl")]
PAGE = ROOT / "docs/how-to/run-a-cluster.md"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler and a worker that both want a certificate, which is made by the page's command."""
    place = tmp_path_factory.mktemp("tls")
    (command,) = re.findall(r"^openssl .*$", PAGE.read_text(encoding="utf-8").replace("\\\n", " "), re.MULTILINE)
    subprocess.run(shlex.split(command), cwd=place, check=True, capture_output=True)
    words = ["--tls-ca-file", "cluster.pem", "--tls-cert", "cluster.pem", "--tls-key", "cluster.key"]
    with DaskCluster(place, *words, protocol="tls") as dask:
        dask.add_worker()
        yield dask


def test_who_has_the_certificate_plays(secured: DaskCluster) -> None:
    import dask.config
    import distributed  # with its defaults, which are not to be lost when ours are

    assert distributed
    with dask.config.set(_settings(secured.place)):
        pool = DaskPool(secured.url, patience=60)
    setup = make_setup("yugo,size=4", "random", "random")
    try:
        assert whole(play(pool, setup, 4), setup, 4)
    finally:
        pool.close()


def test_who_has_none_learns_it(secured: DaskCluster) -> None:
    with raises(WorkersLost, "unreachable") as without:
        DaskPool(secured.url, patience=2)
    assert "certificates" in str(without.value)
    with raises(WorkersLost, "unreachable") as plain:
        DaskPool(secured.url.replace("dask+tls", "dask"), patience=2)
    assert "dask+tls://" in str(plain.value)


def test_a_client_that_did_not_connect_is_let_go_at_once(secured: DaskCluster) -> None:
    """Dask's end of a client waits for a lock that another holds as it begins: garbage found then is too late."""
    before = len(clients())
    gc.disable()
    try:
        with pytest.raises(WorkersLost):
            DaskPool(secured.url, patience=2)
        assert len(clients()) == before
    finally:
        gc.enable()


def clients() -> list[object]:
    return [one for one in gc.get_objects() if type(one).__name__ == "Client"]


def _settings(place: Path) -> dict[str, str]:
    """What the variables that the page exports mean to Dask, with its file names taken from here."""
    said = re.findall(r"^export DASK_(\w+)=(\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name.lower().replace("__", "."): value.replace("$PWD", str(place)) for name, value in said}
