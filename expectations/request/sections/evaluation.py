"""The section ``evaluation``: how much work is spent on measuring."""

from pydantic import BaseModel, Field

from expectations.request.fields import STRICT


class EvaluationSection(BaseModel):
    """How much work is spent on measuring."""

    model_config = STRICT

    bound_rounds: int = Field(default=0, ge=0, le=100_000, strict=True)
    """Rounds spent on a stronger lower bound on the loss of any method; 0 for the plain bound. 400
    take seconds on thousands of records."""
    certify_seconds: float = Field(default=0.0, ge=0.0, strict=True, allow_inf_nan=False)
    """Seconds spent on a bound close to the optimum, for tables of up to 5,000 records; 0 for none.
    How close it gets depends on the machine."""
