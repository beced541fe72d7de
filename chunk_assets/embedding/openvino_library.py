"""OpenVINO, without its telemetry."""

import sys
from typing import cast


def silence_telemetry() -> None:
    """Keep OpenVINO from reporting its use to its vendor; call it before importing `openvino`.

    Its import alone writes an identifier into the home folder, and converting a model sends events.
    It does neither where the package `openvino_telemetry` is missing, and that is what it sees.
    """
    cast("dict[str, None]", sys.modules).setdefault("openvino_telemetry", None)
