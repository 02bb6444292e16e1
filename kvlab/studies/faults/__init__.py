"""The fault catalogue: every known defect, what makes it, what cures it, and both seen happening. `show("F-14")` runs one."""

from kvlab.studies.faults.arms import Arm, Shown
from kvlab.studies.faults.catalogue import CATALOGUE, Fault, find
from kvlab.studies.faults.show import can_be_shown, show
from kvlab.studies.faults.text import Entry, Listing
from kvlab.studies.faults.trigger import ARRAYS, TWIN

__all__ = ["ARRAYS", "CATALOGUE", "TWIN", "Arm", "Entry", "Fault", "Listing", "Shown", "can_be_shown", "find", "show"]
