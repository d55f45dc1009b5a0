"""`ggp bot llm --model NAME --url BASE`: a language model behind an OpenAI-compatible endpoint, for every game.

It plays only what the model names. Prompts and answers are the analysis of the move.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ggp.bots.adapters.answers import read_answer
from ggp.bots.adapters.endpoint import Endpoint, EndpointFailed, ModelAnswer, is_loopback
from ggp.bots.adapters.flags import flag_lines, flag_names
from ggp.bots.adapters.llm_options import LLM_FLAGS, LlmOptions, read_command
from ggp.bots.adapters.pictures import check_pictures
from ggp.bots.adapters.prompts import position_prompt, refusal_prompt, system_prompt
from ggp.bots.adapters.turn import fit, seconds_of
from ggp.bots.sdk import NoMove, Position, run
from ggp.engines.game import Option

OPTIONS: tuple[Option, ...] = ()
FLAGS = flag_names(LLM_FLAGS)
USAGE = "--model NAME --url BASE [OPTION …]"
HELP = f"""
The model reads the rules, the board and the moves so far, and names its move. After an illegal answer it is asked
again, with the engine's reason. Only a move that the model names is played: without one, the game is lost.

{flag_lines(LLM_FLAGS)}
docs/how-to/rate-language-models.md describes every step.
"""
_SPARE = 0.15  # seconds of the clock reserved for sending the move
_MOST_ECHO = 4000  # characters of a model's own answer that are sent back to it


def main(words: Sequence[str], engines: Sequence[str] = ()) -> None:
    """Serve stdin with the model of the command line.

    Raises:
        OptionError: The command line is invalid.
    """
    said = read_command(words)
    if said.board != "text":
        check_pictures()
    body = {"model": said.model, **({} if said.temperature is None else {"temperature": said.temperature}), **said.send}
    if said.max_tokens:
        body["max_tokens"] = said.max_tokens
    endpoint = Endpoint(said.url, body, said.key(), said.per_minute)
    if said.key_env:
        os.environ.pop(said.key_env, None)  # programs that this one starts must not get it
    if said.key_env and said.url.startswith("http:") and not is_loopback(said.url):
        print(f"llm: the key is sent unencrypted over the network: use https for {said.url}", file=sys.stderr)
    bot = ModelBot(said, endpoint)
    try:
        run(bot.choose, name=f"llm {said.model}", analysis=True, told=bot.told, engine=engines, words=())
    finally:
        endpoint.close()


class ModelBot:
    """A bot that plays the model's moves."""

    def __init__(self, said: LlmOptions, endpoint: Endpoint) -> None:
        self._said, self._endpoint = said, endpoint
        self._spent = 0.0  # cost of all games
        self._tokens = 0  # tokens of this game
        self._system = ""  # the system prompt of this game; "" until its first move

    def told(self, command: str, words: str) -> None:
        """Note that a game begins or is over."""
        self._tokens, self._system = 0, ""

    def choose(self, position: Position) -> str:
        """Return the move that the model names.

        Raises:
            NoMove: It names no legal move.
        """
        deadline = time.monotonic() + seconds_of(position, -_SPARE)
        said = self._said
        kept: dict[str, Any] = {"model": said.model, "legal": said.legal, "board": said.board, "answers": []}
        position.analysis = kept
        if not self._system:
            self._system = kept["system"] = system_prompt(position)
        try:
            return self._name_move(position, kept, deadline)
        finally:
            fit(kept)

    def _name_move(self, position: Position, kept: dict[str, Any], deadline: float) -> str:
        said = self._said
        legal = position.legal_moves()
        left = max(0, said.tokens_per_game - self._tokens) if said.tokens_per_game else None
        prompt = position_prompt(position, said.legal, said.board, left)
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self._system},
            {"role": "user", "content": prompt.content},
        ]
        asked: dict[str, Any] = {**prompt.said}
        reason = ""
        for _ in range(said.retries + 1):
            kept["answers"].append(asked)
            began = time.monotonic()
            try:
                answer = self._ask(messages, deadline - began)
            except EndpointFailed as failed:
                self._spend(failed.lost, 0)
                asked |= {"lost": failed.lost} if failed.lost else {}
                asked["failed"], asked["tries"] = str(failed), failed.tries
                raise NoMove(str(failed)) from None
            named = read_answer(answer.text, legal, answer.cut)
            asked |= self._account(answer, began)
            if named.word:
                asked["named"] = named.word[:200]
            if named.word.lower() == "resign":
                return "resign"
            reason = named.problem or position.why_illegal(named.word)
            if not reason:
                return named.word
            asked["illegal" if named.word else "unreadable"] = reason[:300]
            refusal = refusal_prompt(named.word, reason)
            messages.append({"role": "assistant", "content": answer.text[-_MOST_ECHO:].strip() or "(no text)"})
            messages.append({"role": "user", "content": refusal})
            asked = {"prompt": refusal}
        if said.give_up == "resign":
            return "resign"
        count = said.retries + 1
        raise NoMove(f"no legal move in {count} answer{'s' if count > 1 else ''}; the last one: {reason}")

    def _ask(self, messages: Sequence[Mapping[str, Any]], seconds: float) -> ModelAnswer:
        """Ask the endpoint, within the limits of the command line.

        Raises:
            EndpointFailed: There is no answer, or a budget is used up.
        """
        said, more = self._said, {}
        if said.tokens_per_game:
            left = said.tokens_per_game - self._tokens
            if left <= 0:
                raise EndpointFailed(f"the {said.tokens_per_game} tokens of the game are used up")
            if said.max_tokens:  # many endpoints refuse a limit above their model's, and some refuse any limit
                more["max_tokens"] = min(left, said.max_tokens)
        if said.budget and self._spent >= said.budget:
            raise EndpointFailed(f"the budget of {said.budget:g} is used up")
        if seconds <= 0:
            raise EndpointFailed("no time is left for another answer")
        return self._endpoint.ask(messages, seconds, said.seconds, **more)

    def _spend(self, tokens_in: int, tokens_out: int) -> float:
        """Count these tokens and return their cost."""
        self._tokens += tokens_in + tokens_out
        cost = self._said.cost(tokens_in, tokens_out)
        self._spent += cost
        return cost

    def _account(self, answer: ModelAnswer, began: float) -> dict[str, Any]:
        """Count an answer's tokens and return the record's facts about it."""
        self._spend(answer.lost, 0)
        cost = self._spend(answer.tokens_in, answer.tokens_out)
        return {
            "answer": answer.text,
            "tokens_in": answer.tokens_in,
            "tokens_out": answer.tokens_out,
            "ms": int((time.monotonic() - began) * 1000),
            "tries": answer.tries,
            **({"estimated": True} if answer.estimated else {}),
            **({"lost": answer.lost} if answer.lost else {}),
            **({"cut": True} if answer.cut else {}),
            **({"cost": round(cost, 9)} if self._said.price else {}),
        }
