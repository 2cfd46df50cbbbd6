"""Our exception types: every error a user can cause is one of these.

Messages say what was given, what was expected and what to do.
"""


class FirecvError(Exception):
    """Base of every error raised on purpose by this package."""


class DataError(FirecvError, ValueError):
    """Samples, labels or batches are not what the function needs."""


class ModelError(FirecvError, ValueError):
    """The model, its mode or its parameters do not fit the request."""


class StructureError(FirecvError, ValueError):
    """Two Fishers cannot be combined, or one would be too large to build."""


class RegimeError(FirecvError, ValueError):
    """Something asks for more of the validation set than it may see."""


class NumericalError(FirecvError, ArithmeticError):
    """A loss, gradient or Fisher is NaN or infinite."""


class FileFormatError(DataError):
    """A file is truncated, corrupt or not one of ours."""


class FederatedError(FirecvError, RuntimeError):
    """A federated run cannot go on; what was learned up to then is kept."""


class PolicyError(FirecvError, RuntimeError):
    """A site is asked for what its policy does not allow."""


class InUseError(FirecvError, RuntimeError):
    """Another process is writing to the same folder."""


class FirecvNotice(UserWarning):
    """Something works, but costs or means other than one might expect; said once."""
