"""Peers that break the protocol: each is refused or tolerated, and others notice nothing."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgpack
import pytest
import zmq

from ggp.referee.server.lobby.config import LobbyTable
from tests.support.memory_lobby import MemoryCaller, MemoryLobby, open_lobby, until
from tests.support.raw_zmtp import GREETING, MORE, Raw, command, frame, message, ready

HELLO = msgpack.packb({"ggp": 1, "name": "eve", "games": []})


def block_until(done: Callable[[], bool]) -> None:
    """Keep the loop from running until this is so."""
    until = time.monotonic() + 60
    while not done():
        assert time.monotonic() < until, "it did not come to that in time"
        time.sleep(0.005)


def descriptors() -> set[int]:
    """Of this process."""
    return {int(one.name) for one in Path("/proc/self/fd").iterdir() if one.exists()}


@asynccontextmanager
async def eve_beside_bob(
    table: LobbyTable | None = None, greets: bool = False
) -> AsyncIterator[tuple[MemoryLobby, MemoryCaller, Raw]]:
    """A bot and a raw connection, which is ended in the end and does not disturb the bot.

    `greets`: the connection is eve's, who has said hello.
    """
    async with open_lobby(table) as it:
        bob = await it.seat("bob")
        with Raw(it.router.url) as eve:
            if greets:
                await asyncio.to_thread(eve.shake_hands)
                eve.send(message(b"H", HELLO))
                await until(lambda: "eve" in it.sessions.bots, bob)
            yield it, bob, eve
        await until(lambda: it.router.connections == 1, bob)
        assert list(it.sessions.bots) == ["bob"] and not bob.byes


# -- connections that end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("playing", [True, False])
async def test_a_failed_send_ends_the_connection(playing: bool) -> None:
    """It fails before the event of the disconnect is read; the grace of a bot in a match starts there."""
    async with open_lobby(LobbyTable(grace=0.2)) as it:
        ann = await it.seat("ann")
        it.sessions.bots["ann"].playing = playing
        line = it.sessions.bots["ann"].line
        ann.socket.close(linger=0)
        while line.route:
            await line.write(b"play black A1\n")
            time.sleep(0.005)
        await until(lambda: not it.sessions.bots)
        assert ("did not come back within 0.2 s" in line.ended) is playing
        assert it.event_log.counts["gone", ""] == 1


async def test_connection_that_does_not_read_is_ended() -> None:
    async with open_lobby() as it:
        bob = await it.seat("bob")
        deaf = Raw(it.router.url, deaf=True)
        deaf.shake_hands()
        deaf.send(message(b"H", HELLO))
        await until(lambda: "eve" in it.sessions.bots, bob)
        line = it.sessions.bots["eve"].line
        while line.route:
            it.sessions.send(line.route, b"C", [b"play black " + b"A" * 60_000 + b"\n"])
        await until(lambda: it.router.connections == 1 and "eve" not in it.sessions.bots, bob)
        assert it.event_log.counts["refused", "deaf"] == 1
        deaf.close()


async def test_reused_descriptor_is_not_cut() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        route = it.sessions.bots["ann"].line.route
        descriptor = it.router.by_route[route].descriptor
        ann.socket.close(linger=0)
        block_until(lambda: descriptor not in descriptors())
        ours, theirs = socket.socketpair()
        try:
            taken = ours if ours.fileno() == descriptor else theirs
            if taken.fileno() != descriptor:
                os.dup2(ours.fileno(), descriptor)
                taken = socket.socket(fileno=descriptor)
            it.router.cut(route)
            taken.setblocking(False)
            with pytest.raises(BlockingIOError):
                taken.recv(1)
        finally:
            ours.close()
            theirs.close()
            taken.close()
        await until(lambda: it.router.connections == 0)


async def test_cutting_leaves_no_descriptor_behind() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        route = it.sessions.bots["ann"].line.route
        descriptor = it.router.by_route[route].descriptor
        ann.socket.close(linger=0)
        block_until(lambda: descriptor not in descriptors())
        file = os.open("/dev/null", os.O_RDONLY)
        os.dup2(file, descriptor)
        before = descriptors()
        it.router.cut(route)
        assert descriptors() == before
        os.close(descriptor)
        os.close(file)
        await until(lambda: it.router.connections == 0)


# -- connections that come -------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_silent_connections_keep_no_bot_out() -> None:
    """At the limit the connection that was silent for longest is ended."""
    async with open_lobby(connections=10) as it:
        silent = [Raw(it.router.url) for _ in range(30)]
        await until(lambda: it.event_log.counts["refused", "full"] >= 20)
        bob = await it.seat("bob")
        more = [Raw(it.router.url) for _ in range(30)]
        ann = await it.seat("ann", bob)
        await until(lambda: it.event_log.counts["refused", "full"] >= 52, ann, bob)
        assert len(it.sessions.ready()) == 2 and it.router.connections <= 10
        for one in silent + more:
            one.close()


async def test_connected_bots_are_not_ended_for_a_newcomer() -> None:
    async with open_lobby(connections=2) as it:
        ann, bob = await it.seat("ann"), await it.seat("bob")
        with Raw(it.router.url) as late:
            await until(lambda: it.event_log.counts["refused", "full"] == 1, ann, bob)
            assert late.ended()
        assert len(it.sessions.ready()) == 2 and not ann.byes and not bob.byes


@pytest.mark.parametrize("size", [33, 60_000])
async def test_a_long_routing_id_is_refused(size: int) -> None:
    """It would be copied and looked up with every message."""
    async with eve_beside_bob() as (it, bob, eve):
        eve.shake_hands(Identity=b"x" * size)
        eve.send(message(b"H", HELLO))
        assert await asyncio.to_thread(eve.ended)
        await until(lambda: it.event_log.counts["refused", "routing id"] == 1, bob)
        assert it.event_log.counts["joined", ""] == 1


@pytest.mark.slow
async def test_client_with_its_own_routing_id_gets_the_reason() -> None:
    async with open_lobby(LobbyTable(hello=0.5)) as it:
        bob = await it.seat("bob")
        eve = it.context.socket(zmq.DEALER)
        eve.setsockopt(zmq.LINGER, 0)
        eve.setsockopt(zmq.ROUTING_ID, b"eve")
        eve.connect(it.router.url)
        eve.send_multipart([b"H", HELLO])
        await until(lambda: bool(eve.poll(0)), bob)
        assert eve.recv_multipart()[0] == b"B"
        await until(lambda: it.event_log.counts["refused", "routing id"] == 1, bob)
        await until(lambda: it.router.connections == 1, bob)
        eve.close()
        assert list(it.sessions.bots) == ["bob"] and not bob.byes


# -- what is no message ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: lobby\r\n\r\n",
        bytes.fromhex("1603010200010001fc0303") + bytes(500),
        b"\x00" * 1000,
        b"\xff" * 1000,
        GREETING[:12],
        GREETING.replace(b"NULL", b"PLAI"),
        GREETING + b"\x04\xff",
        GREETING + command(b"READY", b"\xff" * 200),
        GREETING + command(b"ERROR", b"\x05never"),
        GREETING + ready(b"PUB"),
        GREETING + ready(b"REP"),
        GREETING + ready(b"NONSENSE"),
        GREETING + frame(b"x" * 100),
        GREETING + b"\x02" + b"\xff" * 8,
        GREETING + ready() + b"\x02" + b"\x7f" * 8,
        GREETING + ready() + b"\xf8\x01x",
        b"\x01\x00" * 50,
        b"",
    ],
)
async def test_invalid_bytes_end_the_connection(data: bytes) -> None:
    async with eve_beside_bob(LobbyTable(hello=0.5)) as (_, _, eve):
        eve.send(data)
        assert await asyncio.to_thread(eve.ended)


async def test_a_failed_handshake_is_counted() -> None:
    async with open_lobby() as it:
        for _ in range(3):
            with Raw(it.router.url) as eve:
                eve.send(GREETING.replace(b"NULL", b"PLAI"))
                assert await asyncio.to_thread(eve.ended)
        await until(lambda: it.event_log.counts["refused", "greeting"] == 3)


@pytest.mark.parametrize(
    "data",
    [
        command(b"SUBSCRIBE", b"all"),
        command(b"CANCEL", b"all"),
        command(b"PING", b"\0\0" + b"context"),
        command(b"PING"),
        command(b"PONG", b"x" * 300),
        command(b"UNKNOWN", b"x" * 1000),
        command(b""),
        frame(b"", 4),
        frame(b"\xff", 4),
    ],
)
async def test_zmtp_commands_are_no_messages(data: bytes) -> None:
    async with eve_beside_bob() as (it, bob, eve):
        eve.shake_hands()
        for _ in range(1000):
            if not eve.send(data):
                break
        eve.send(message(b"H", HELLO))
        await until(lambda: "eve" in it.sessions.bots or it.router.connections == 1, bob)


# -- too much --------------------------------------------------------------------------------------------------------


async def test_repeated_hellos_are_a_flood() -> None:
    async with eve_beside_bob() as (it, bob, eve):
        eve.shake_hands()
        for _ in range(100):
            eve.send(message(b"H", HELLO))
        await until(lambda: it.event_log.counts["refused", "flood"] == 1, bob)


async def test_connection_speaks_for_the_bot_of_its_last_hello() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        ann.hello("bob")
        await until(lambda: [one.name for one in it.sessions.ready()] == ["bob"], ann)
        assert list(it.sessions.bots) == ["bob"] and not ann.byes
        ann.socket.close(linger=0)
        await until(lambda: not it.sessions.bots)


@pytest.mark.slow
async def test_earlier_messages_give_no_credit_to_a_message_without_an_end() -> None:
    """Small messages count for more bytes than they have; this difference must not add up to a credit."""
    async with eve_beside_bob(LobbyTable(messages=100_000, bytes=10**9), greets=True) as (it, bob, eve):
        line = it.sessions.bots["eve"].line
        for _ in range(20):
            eve.send(message(b"E", b"") * 1000)
            await asyncio.sleep(0)
        eve.send(message(b"E", b"that is all"))
        await until(lambda: "that is all" in line.stderr_tail(), bob)
        await until(lambda: it.router.by_route[line.route].heard < 1_000_000, bob)
        assert eve.send(frame(b"x" * 1000, MORE) * 5000)
        await until(lambda: it.event_log.counts["refused", "stuffed"] == 1, bob)


@pytest.mark.slow
async def test_heartbeats_without_an_end_end_the_connection() -> None:
    async with eve_beside_bob(greets=True) as (it, bob, eve):
        eve.socket.setblocking(False)
        pings = bytearray()

        def ping() -> bool:
            pings.extend(command(b"PING", b"\0\0") * (5000 if not pings else 0))
            with contextlib.suppress(OSError):
                del pings[: eve.socket.send(pings)]  # half a command would end the connection as invalid
            with contextlib.suppress(OSError):
                eve.socket.recv(1 << 20)
            return it.event_log.counts["refused", "stuffed"] == 1

        await until(ping, bob)


# -- stderr of a bot --------------------------------------------------------------------------------------------------


async def test_lines_of_stderr_are_bounded() -> None:
    async with open_lobby() as it:
        ann = await it.seat("ann")
        line = it.sessions.bots["ann"].line
        ann.say(b"E", b"\x01" * 65_000 + b"late")
        ann.say(b"E", b"so it is " + b"x" * 65_000)
        await until(lambda: "so it is" in line.stderr_tail(), ann)
        assert len(line.stderr_tail()) <= 201 and "late" not in line.stderr_tail()
        ann.say(b"E", b"x" * 65_537)
        assert await ann.bye() and it.event_log.counts["refused", "size"] == 1


# -- floods ----------------------------------------------------------------------------------------------------------


async def test_message_of_many_frames_is_dropped_in_parts() -> None:
    """In one turn of the loop its frames would delay all matches."""
    async with eve_beside_bob(greets=True) as (it, _, eve):
        eve.send(frame(b"", MORE) * 100_000 + frame(b""))
        turns = 0
        while not it.event_log.counts["refused", "frames"]:
            await asyncio.sleep(0.001)
        while it.router.skipping:
            turns += 1
            await asyncio.sleep(0)
        assert turns >= 3
        assert await asyncio.to_thread(eve.ended)


async def test_a_flood_that_is_reset_with_a_heartbeat_in_it_ends_no_other() -> None:
    """With a bound on unread messages this aborts libzmq 4.3.5, and all matches with it."""
    async with open_lobby() as it:
        bob = await it.seat("bob")
        floods = [Raw(it.router.url) for _ in range(5)]
        some = message(b"E", b"x") * 60 + command(b"PING", b"\0\0")
        for eve in floods:
            await asyncio.to_thread(eve.shake_hands)
            eve.send(message(b"H", HELLO) + some * 20)
        time.sleep(0.2)  # everything has arrived, and nothing was read
        for eve in floods:
            eve.reset()
        time.sleep(0.2)
        await until(lambda: it.router.connections == 1, bob)
        assert list(it.sessions.bots) == ["bob"] and not bob.byes


@pytest.mark.parametrize("later", [False, True])
async def test_late_message_is_not_taken_for_one_of_a_reused_descriptor(later: bool) -> None:
    """A message of a closed connection may be read after another connection got its descriptor and sent a message."""
    async with open_lobby() as it:
        bob = await it.seat("bob")
        (route,) = it.router.by_route
        descriptor = it.router.by_route[route].descriptor
        other = b"\0" + (int.from_bytes(route[1:]) + (1 if later else -1)).to_bytes(4)
        assert (it.router._arrive(other, descriptor, "", "") is not None) is later
        assert (it.sessions.bots.get("bob") is None) is later
        assert not later or it.router.by_route[other].descriptor == descriptor
        del bob
