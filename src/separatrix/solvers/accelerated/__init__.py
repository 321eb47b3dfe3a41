"""The machines on dense rows that are on a device: the same objective and claims, in torch."""
