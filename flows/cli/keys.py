"""The command that handles keys: key."""

import os
import sys
from pathlib import Path

from algorithms.errors import SpecError
from flows.cli import display
from flows.cli.command import HOME_OPTION, argument, command
from tasks.store.home import HOME

SHOW, ROTATE, ADOPT, NEW, SIGN = "show", "rotate", "adopt", "new", "sign"


@command(
    argument(
        "action",
        choices=(SHOW, ROTATE, ADOPT, NEW, SIGN),
        help="show the public key; rotate: draw a new key, signed by the old one; adopt: continue "
        "a register that another key signed; new: draw a reviewer's own key; sign: sign a decision "
        "with it",
    ),
    argument(
        "target",
        nargs="?",
        default="",
        help="the register to adopt, the file of the new key, or the candidate to sign",
    ),
    argument(
        "--register",
        type=Path,
        default="register",
        metavar="DIR",
        help="sign: folder of the internal register (default: %(default)s)",
    ),
    argument("--with", type=Path, dest="key_file", metavar="FILE", help="sign: your own key"),
    argument("--reviewer", default="", metavar="NAME", help="sign: your name"),
    argument("--reject", action="store_true", help="sign: a rejection"),
    argument("--reason", default="", help="sign, adopt: the reason, kept in the register"),
    argument("--started-by", default="", metavar="NAME", help="adopt: your name"),
    HOME_OPTION,
)
def key(
    action: str,
    target: str,
    register: Path,
    key_file: Path | None,
    reviewer: str,
    reject: bool,
    reason: str,
    started_by: str,
    home: Path | None,
) -> int:
    """Show or change the key that signs releases, or sign a decision with a key of your own.

    The key of the installation is drawn at its first release and kept in its folder. Publish what
    `microrelease key show` prints where readers of your data find it: `microrelease verify --key`
    and `microrelease audit --key` need it to find forgeries. A reviewer draws a key of their own
    with `microrelease key new FILE`, has its public part added to their login with `microrelease
    users change LOGIN --key FILE`, and signs a decision with `microrelease key sign CANDIDATE
    --with FILE --reviewer NAME`.
    """
    if home is not None:
        os.environ[HOME] = str(home.absolute())
    if action == SHOW:
        return _show()
    if action == ROTATE:
        return _rotate()
    if not target:
        raise SpecError(f"`microrelease key {action}` needs a target: see --help")
    if action == ADOPT:
        return _adopt(Path(target), reason, started_by)
    if action == NEW:
        return _new(Path(target))
    return _sign(target, register, key_file, reviewer, reject, reason)


def _show() -> int:
    from tasks.store.signing import installation_key, keys_folder, public_pem

    signer = installation_key()
    display.say(f"{signer.public.fingerprint}  (the private key is in {keys_folder()})")
    sys.stdout.write(public_pem(signer.secret).decode())
    return 0


def _rotate() -> int:
    from tasks.store.signing import rotate

    signer = rotate()
    display.say(f"{signer.public.fingerprint} signs from now on, signed by the key before it")
    display.say("  each register gets a line about it with its next line; publish the new key")
    return 0


def _adopt(folder: Path, reason: str, started_by: str) -> int:
    from tasks.store.register import Register

    if not reason.strip() or not started_by.strip():
        raise SpecError(
            "a register is continued with another key only for a reason, by a named person: give "
            "--reason and --started-by"
        )
    Register(folder.absolute()).adopt(reason.strip(), started_by.strip())
    display.say(f"{folder}: signed with the key of this installation from now on")
    return 0


def _new(path: Path) -> int:
    from tasks.store.signing import new_personal_key

    public = new_personal_key(path)
    display.say(f"{path}: your private key; keep it to yourself")
    display.say(f"{path.with_suffix('.pub.pem')}: its public part, {public.fingerprint}")
    return 0


def _sign(
    candidate: str, folder: Path, key_file: Path | None, reviewer: str, reject: bool, reason: str
) -> int:
    from expectations.review import Decision, decision_text
    from expectations.signatures import DECISION, sign
    from tasks.store.candidates import check_waiting
    from tasks.store.register import Register
    from tasks.store.signing import personal_key

    if key_file is None:
        raise SpecError("a decision is signed with a key of your own: name its file by --with")
    register = Register(folder.absolute())
    check_waiting(register, candidate)
    decision = Decision(not reject, reviewer, reason)
    text = decision_text(candidate, register.manifest_sha256(candidate), decision)
    sys.stdout.write(sign(personal_key(key_file), DECISION, text) + "\n")
    return 0
