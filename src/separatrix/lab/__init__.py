"""The lab: draw points in a browser, watch every update of a method, see the proof."""
