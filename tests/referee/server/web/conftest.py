"""Pages wait up to a minute here, so a machine that stands still fails no test; tests of these bounds set their own."""

import pytest

from ggp.referee.server.web import answers, page_cache, pool_rater, site

PATIENCE = 60.0  # seconds


@pytest.fixture(autouse=True)
def _patient_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "QUERY_TIME", PATIENCE)
    monkeypatch.setattr(site, "QUERY_TIME", PATIENCE)
    monkeypatch.setattr(answers, "PATIENT_TIME", PATIENCE)
    monkeypatch.setattr(site, "PATIENT_TIME", PATIENCE)
    monkeypatch.setattr(page_cache, "PATIENCE", PATIENCE)
    monkeypatch.setattr(page_cache, "MOMENT", PATIENCE)
    monkeypatch.setattr(pool_rater, "_MOMENT", PATIENCE)
