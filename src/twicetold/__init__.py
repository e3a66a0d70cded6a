"""twicetold: which cheap model tells me that two texts say the same thing, and how far can I trust it?"""

import os

# Must be set before torch loads. Idle OpenMP threads otherwise spin: on shared cores that makes a training of small
# steps several times slower. An OMP_WAIT_POLICY of the user's own wins.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
