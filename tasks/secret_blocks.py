"""Reads what a site keeps in the Secret blocks of Prefect."""

from pydantic import SecretStr

from algorithms.errors import StorageError


def secret_block(name: str) -> SecretStr | None:
    """Read a Secret block of Prefect; None if there is none, or no server to ask.

    Raises
    ------
    StorageError
        If the server does not answer.
    """
    from prefect.blocks.system import Secret
    from prefect.context import FlowRunContext, TaskRunContext
    from prefect.settings import get_current_settings

    asks = get_current_settings().api.url or FlowRunContext.get() or TaskRunContext.get()
    if not asks:
        return None  # a server would have to be started first
    try:
        value = Secret.load(name).get()  # type: ignore[union-attr]
    except ValueError:
        return None
    except Exception as error:
        raise StorageError(
            f"the Prefect server must answer when it is asked for the Secret block {name}; it does "
            f"not ({type(error).__name__})"
        ) from None
    return SecretStr(value.strip()) if isinstance(value, str) and value.strip() else None
