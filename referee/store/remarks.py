"""What a fit says besides ratings, as the JSON text that the store keeps of it. It reads no database."""

import json
from dataclasses import astuple, replace

from referee.store.rows import Drift, Fit, Misfit


def write_remarks(fit: Fit) -> str:
    """Anchors, deviance, misfits and drifts."""
    said = {
        "anchors": list(fit.anchors.items()),
        "deviance": fit.deviance,
        "freedom": fit.freedom,
        "misfits": [astuple(pair) for pair in fit.misfits],
        "drifts": [astuple(drift) for drift in fit.drifts],
    }
    return json.dumps(said, separators=(",", ":"))


def read_remarks(fit: Fit, text: str) -> Fit:
    """The fit with what the text says; an empty one says nothing."""
    if not text:
        return fit
    said = json.loads(text)
    return replace(
        fit,
        anchors={int(version): float(elo) for version, elo in said["anchors"]},
        deviance=float(said["deviance"]),
        freedom=int(said["freedom"]),
        misfits=tuple(Misfit(*pair) for pair in said["misfits"]),
        drifts=tuple(Drift(*drift) for drift in said["drifts"]),
    )
