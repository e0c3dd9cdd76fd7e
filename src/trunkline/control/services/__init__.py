"""What an execution plane may ask for or report, one noun a module.

Services know the store and each other, never a socket: the VM edge and the REST API call them.
"""

from trunkline.control.services.methods import Caller, Methods
from trunkline.control.services.services import Services

__all__ = ["Caller", "Methods", "Services"]
