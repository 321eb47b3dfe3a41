"""The same solvers on a device, in torch."""
