"""What a function's own answers show: neighbours, risk, calibration, the error budget."""
