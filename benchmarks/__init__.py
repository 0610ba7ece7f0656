"""Every file here is a script: `python benchmarks/exact.py` or `python -m benchmarks.exact`.

The first puts this folder where modules are looked for, so that scripts find one another; here the second does.
"""

import sys

sys.path.insert(0, __path__[0])
