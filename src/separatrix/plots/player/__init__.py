"""The player: a replay drawn and played in a browser, by itself or within a page."""
