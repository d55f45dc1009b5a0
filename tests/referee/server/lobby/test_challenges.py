"""Challenges: which are accepted, when their pairs are played, what ends them. A real store, and no sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ggp.protocol.commands import Who, commands_of
from ggp.protocol.errors import CommandFailed
from ggp.referee.ladder.store.store import Store
from ggp.referee.server.lobby.auth import OWNER, Author
from ggp.referee.server.lobby.challenges import LobbyCommands
from ggp.referee.server.lobby.config import LobbyTable
from tests.support.codes import raises
from tests.support.memory_club import Club
from tests.support.stores import pool

POOLS = (pool(), pool().unrated())
ALICE, BOB, EVE = Author("alice", ("ann", "amy")), Author("bob", ("bob",)), Author("eve", ("eve",))
OWNERS = {"ann": "alice", "amy": "alice", "bob": "bob", "eve": "eve", "house": OWNER}


@asynccontextmanager
async def opened(folder: Path, table: LobbyTable | None = None) -> AsyncIterator[Club]:
    with Store.open(f"sqlite:///{folder}/club.db", create=True) as store:
        made = Club(store, POOLS, OWNERS, table)
        yield made
        await made.writer.close()


@pytest.fixture
async def club(tmp_path: Path) -> AsyncIterator[Club]:
    async with opened(tmp_path) as made:
        yield made


def kinds(met: list[tuple[str, str, str]]) -> str:
    return "".join("c" if one[0] == "fast/unrated" else "r" for one in met)


async def test_every_second_pair_is_a_challenge_until_it_is_over(club: Club) -> None:
    club.come("ann", "bob")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 3)
    met = await club.play(7)
    assert kinds(met) == "crcrcrr"
    assert met[0] == ("fast/unrated", "ann", "bob"), "the challenger is the first of the pair"
    said = await club.challenges.status(id)
    assert said.startswith(f"id={id} state=over pool=fast first=ann second=bob owner=alice pairs=3 played=3 games=6")
    assert "wins=6 draws=0 losses=0 void=0" in said and "reason" not in said
    assert club.challenges.open == {} and club.event_log.counts["challenge", "over"] == 1


async def test_challenge_goes_on_without_a_rated_opponent(club: Club) -> None:
    club.come("ann", "amy")
    await club.challenges.order(ALICE, "fast", "ann", "amy", 3)
    assert kinds(await club.play(4)) == "ccc", "bots of one owner play each other in challenges only"


async def test_challenger_waits_for_its_opponent(club: Club) -> None:
    club.come("ann", "bob", "eve")
    bob = next(bot for bot in club.here if bot.name == "bob")
    bob.playing = True
    await club.challenges.order(ALICE, "fast", "ann", "bob", 2)
    await club.look()
    assert club.met == [], "eve has no other opponent"
    bob.playing = False
    await club.look()
    assert club.met == [("fast/unrated", "ann", "bob")]
    club.finish()
    bob.playing = True
    await club.look()
    assert club.met[1][0] == "fast" and set(club.met[1][1:]) == {"ann", "eve"}, "it was challenged, and is rated now"


async def test_challengers_of_one_bot_take_turns(club: Club) -> None:
    club.come("ann", "bob", "eve")
    await club.challenges.order(ALICE, "fast", "ann", "bob", 2)
    await club.challenges.order(EVE, "fast", "eve", "bob", 2)
    met = [one for one in await club.play(12) if one[0] == "fast/unrated"]
    assert [one[1] for one in met] in (["ann", "eve", "ann", "eve"], ["ann", "eve", "eve", "ann"])


async def test_bot_that_accepts_no_challenges_gets_none(club: Club) -> None:
    club.come("ann")
    club.come("bob", challenges=False)
    with raises(CommandFailed, "not-challengeable"):
        await club.challenges.order(ALICE, "fast", "ann", "bob", 1)
    club.come("bob")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 1)
    club.come("bob", challenges=False)
    await club.look()
    assert kinds(club.met) == "r"
    assert "state=withdrawn" in (said := await club.challenges.status(id)) and said.endswith("bob takes no challenges")


async def test_new_version_withdraws_a_challenge(club: Club) -> None:
    club.come("ann", "bob")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 1)
    club.come("bob", version="v2")
    await club.look()
    assert (await club.challenges.status(id)).endswith("reason=bob is another version now")


async def test_suspension_withdraws_challenges(club: Club) -> None:
    club.come("ann", "bob")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 2)
    version = next(seat.id for seat in club.unrated.seats.values() if seat.name == "bob")
    club.store.suspend(version, "void 4 times", club.unrated.row)
    club.unrated.enrolled()
    await club.challenges.update()
    assert (await club.challenges.status(id)).endswith("reason=bob is suspended: void 4 times")
    with raises(CommandFailed, "suspended") as refused:
        await club.challenges.order(ALICE, "fast", "ann", "bob", 1)
    assert "void 4 times" in str(refused.value)


@pytest.mark.parametrize(
    ("words", "pairs", "code"),
    [
        ("slow ann bob", 1, "no-pool"),
        ("fast bob ann", 1, "not-yours"),
        ("fast ann ann", 1, "same-bot"),
        ("fast ann zed", 1, "not-challengeable"),
        ("fast ann bob", 0, "bad-pairs"),
        ("fast ann bob", 51, "bad-pairs"),
    ],
)
async def test_invalid_challenge_is_refused(club: Club, words: str, pairs: int, code: str) -> None:
    club.come("ann", "bob")
    with raises(CommandFailed, code):
        game, mine, theirs = words.split()
        await club.challenges.order(ALICE, game, mine, theirs, pairs)
    assert club.store.challenges() == []


async def test_open_challenges_of_an_owner_are_limited(tmp_path: Path) -> None:
    async with opened(tmp_path, LobbyTable(challenges=2)) as club:
        club.come("ann", "amy", "bob", "eve")
        for other in ("bob", "eve"):
            await club.challenges.order(ALICE, "fast", "ann", other, 1)
        with raises(CommandFailed, "too-many-challenges"):
            await club.challenges.order(ALICE, "fast", "amy", "eve", 1)
        await club.challenges.order(BOB, "fast", "bob", "ann", 1)
        await club.challenges.withdraw(ALICE, 1)
        await club.challenges.order(ALICE, "fast", "amy", "eve", 1)


async def test_only_the_two_owners_may_withdraw(club: Club) -> None:
    club.come("ann", "bob", "eve")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 3)
    with raises(CommandFailed, "not-yours"):
        await club.challenges.withdraw(EVE, id)
    await club.look()
    await club.challenges.withdraw(BOB, id)
    with raises(CommandFailed, "withdrawn"):
        await club.challenges.withdraw(ALICE, id)
    assert "state=playing" in await club.challenges.status(id), "the pair that is being played is played to its end"
    met = await club.play(2)
    assert "c" not in kinds(met)
    said = await club.challenges.status(id)
    assert "state=withdrawn" in said and "played=1 games=2" in said and said.endswith("reason=withdrawn by bob")
    with raises(CommandFailed, "challenge-over"):
        await club.challenges.withdraw(ALICE, id)
    with raises(CommandFailed, "no-challenge"):
        await club.challenges.withdraw(ALICE, 7)
    with raises(CommandFailed, "no-challenge"):
        await club.challenges.status(7)


async def test_open_pairs_of_a_withdrawn_challenge_are_not_played(club: Club) -> None:
    club.come("ann", "bob")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 1)
    await club.look()
    await club.challenges.withdraw(ALICE, id)
    club.finish(left=True)
    await club.challenges.update()
    assert "state=withdrawn" in await club.challenges.status(id) and club.challenges.open == {}
    assert club.store.open_pairs(club.unrated.row) == []


async def test_no_pair_starts_while_the_store_withdraws_the_challenge(club: Club) -> None:
    club.come("ann", "bob")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 2)
    withdrawn = asyncio.create_task(club.challenges.withdraw(ALICE, id))
    await asyncio.sleep(0)  # it is with the store
    await club.challenges.update()
    await withdrawn
    assert club.met == [] and "state=withdrawn" in await club.challenges.status(id)


async def test_pair_abandoned_during_a_withdrawal_is_withdrawn_too(club: Club) -> None:
    club.come("ann", "bob")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 2)
    await club.challenges.update()
    withdrawn = asyncio.create_task(club.challenges.withdraw(ALICE, id))
    await asyncio.sleep(0)
    club.finish(left=True)
    await withdrawn
    await club.challenges.update()
    assert "state=withdrawn" in await club.challenges.status(id)
    assert club.challenges.open == {} and club.anew().open == {}


async def test_challenge_expires(tmp_path: Path) -> None:
    async with opened(tmp_path, LobbyTable(challenge_days=0)) as club:
        club.come("ann", "bob")
        id = await club.challenges.order(ALICE, "fast", "ann", "bob", 1)
        await club.challenges.update()
        assert "state=withdrawn" in (said := await club.challenges.status(id)) and "it was not finished by" in said
        assert club.met == []


async def test_status_says_why_a_challenge_waits(club: Club) -> None:
    club.come("ann", "bob", "eve")
    id = await club.challenges.order(ALICE, "fast", "ann", "bob", 2)
    club.leave("bob")
    assert (await club.challenges.status(id)).endswith("reason=bob is away")
    club.leave("ann")
    assert (await club.challenges.listed())[0].endswith("reason=ann and bob are away")
    club.come("ann", "bob")
    club.here[-1].playing = True
    assert (await club.challenges.status(id)).endswith("reason=bob is playing")
    club.here[-1].playing, club.here[-1].challenged = False, True
    assert (await club.challenges.status(id)).endswith("reason=bob will be rated first")


async def test_challenges_survive_a_restart(club: Club) -> None:
    club.come("ann", "amy")
    id = await club.challenges.order(ALICE, "fast", "ann", "amy", 3)
    await club.play(1)
    again = club.challenges = club.anew()
    assert list(again.open) == [id] and "played=1" in await again.status(id)
    assert kinds(await club.play(4)) == "cc" and "state=over" in await again.status(id)


async def test_values_of_a_listing_are_single_words(club: Club) -> None:
    club.come("house")
    assert club.challenges.bots() == ["name=house owner=the_lobby state=joining challenges=yes games=all"]


async def test_commands_are_answered_and_invalid_ones_change_nothing(club: Club) -> None:
    answers: list[bytes] = []
    ended: list[bytes] = []
    orders = LobbyCommands(club.challenges, club.event_log, lambda route, answer: answers.append(answer), ended.append)
    club.come("ann", "bob")
    orders.open()

    async def ask(line: str) -> str:
        answers.clear()
        orders.submit(b"route", ALICE, f"{line}\n".encode())
        while not answers:
            await club.writer.work(lambda: None)
        return answers[0].decode()

    assert await ask("protocol_version") == "= 2\n\n" and await ask("7 known_command ggp-challenge") == "=7 true\n\n"
    assert await ask("known_command genmove") == "= false\n\n" and "ggp-withdraw" in await ask("list_commands")
    assert await ask("ggp-pools") == "= pool=fast game=yugo,size=5 time=1+0.1 openings=0 seats=no\n\n"
    assert "name=ann owner=alice state=joining challenges=yes games=all" in await ask("ggp-bots")
    for row in commands_of(Who.LOBBY):
        if row.name != "quit":
            said = await ask(f"{row.name} a b c d e")
            assert said.startswith("? syntax error: " if row.name.startswith("ggp-") else "= "), row
    for line, wrong in (
        ("genmove black", "unknown command"),
        ("ggp-challenge fast ann", "syntax error: ggp-challenge POOL MINE THEIRS [pairs=N]"),
        ("ggp-challenge fast ann bob games=3", "'games=3' is no option: write pairs=N"),
        ("ggp-challenge fast ann bob pairs=1e9", "'1e9' is no number"),
        ("ggp-challenge fast ann bob pairs=9999999999", "'9999999999' is no number"),
        ("ggp-challenge fast ann bob pairs=51", "pairs=51 is not from 1 to 50: ask for another number"),
        ("ggp-challenge-status one", "'one' is no number"),
        ("ggp-withdraw 3", "there is no challenge 3"),
    ):
        assert await ask(line) == f"? {wrong}\n\n"
    assert await ask("ggp-challenges") == "=\n\n" and club.store.challenges() == []
    assert await ask("5 ggp-challenge fast ann bob pairs=2") == "=5 id=1\n\n"
    assert (await ask("ggp-challenges")).startswith("= id=1 state=waiting")
    assert await ask("ggp-withdraw 1") == "=\n\n"
    assert await ask("quit") == "=\n\n" and ended == [b"route"]
    await orders.close()


async def test_other_tasks_run_between_two_commands(club: Club) -> None:
    answers: list[bytes] = []
    orders = LobbyCommands(
        club.challenges, club.event_log, lambda route, answer: answers.append(answer), lambda route: None
    )
    orders.open()
    for _ in range(3):
        orders.submit(b"route", ALICE, b"ggp-bots\n")
    for _ in range(2):
        await asyncio.sleep(0)
    assert 1 <= len(answers) < 3
    await orders.close()
