"""The tables as the first migration makes them, for both databases. Never changed: how they are now is in schema.py."""

SQL = """\
CREATE TABLE events (
    id {id},
    at VARCHAR(40) NOT NULL,
    kind VARCHAR(100) NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE meta (
    key VARCHAR(100) NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (key)
);
CREATE TABLE pools (
    id {id},
    key VARCHAR(100) NOT NULL,
    name VARCHAR(120) NOT NULL,
    game VARCHAR(100) NOT NULL,
    options TEXT NOT NULL,
    control VARCHAR(100) NOT NULL,
    openings INTEGER NOT NULL,
    played {int} NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (key),
    UNIQUE (name)
);
CREATE TABLE run_lock (
    id {int} NOT NULL,
    host VARCHAR(100) NOT NULL,
    space VARCHAR(100) NOT NULL,
    pid {int} NOT NULL,
    started {int} NOT NULL,
    command TEXT NOT NULL,
    taken {int} NOT NULL,
    beat {int} NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE versions (
    id {id},
    name VARCHAR(100) NOT NULL,
    version VARCHAR(100) NOT NULL,
    label VARCHAR(120) NOT NULL,
    command TEXT NOT NULL,
    parent {int},
    since VARCHAR(40) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT versions_name_version UNIQUE (name, version),
    UNIQUE (label),
    FOREIGN KEY(parent) REFERENCES versions (id)
);
CREATE TABLE endings (
    pool {int} NOT NULL,
    termination VARCHAR(40) NOT NULL,
    culprit {int} NOT NULL,
    games {int} NOT NULL,
    void {int} NOT NULL,
    PRIMARY KEY (pool, termination, culprit),
    FOREIGN KEY(pool) REFERENCES pools (id)
);
CREATE TABLE entered (
    pool {int} NOT NULL,
    version {int} NOT NULL,
    active BOOLEAN NOT NULL,
    anchor {real},
    suspended TEXT NOT NULL,
    suspended_in {int} NOT NULL,
    PRIMARY KEY (pool, version),
    FOREIGN KEY(pool) REFERENCES pools (id),
    FOREIGN KEY(version) REFERENCES versions (id)
);
CREATE TABLE fits (
    pool {int} NOT NULL,
    games {int} NOT NULL,
    model VARCHAR(100) NOT NULL,
    advantage {real} NOT NULL,
    advantage_se {real} NOT NULL,
    tie {real} NOT NULL,
    remarks TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (pool),
    FOREIGN KEY(pool) REFERENCES pools (id)
);
CREATE TABLE pairs (
    id {int} NOT NULL,
    pool {int} NOT NULL,
    number {int} NOT NULL,
    batch {int} NOT NULL,
    first {int} NOT NULL,
    second {int} NOT NULL,
    state VARCHAR(12) NOT NULL,
    done SMALLINT NOT NULL,
    points {real},
    culprit {int},
    reason TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT pairs_pool_number UNIQUE (pool, number),
    FOREIGN KEY(pool) REFERENCES pools (id),
    FOREIGN KEY(first) REFERENCES versions (id),
    FOREIGN KEY(second) REFERENCES versions (id)
);
CREATE INDEX pairs_batch ON pairs (pool, batch);
CREATE INDEX pairs_open ON pairs (pool, number) WHERE state = 'issued';
CREATE INDEX pairs_versions ON pairs (pool, first, second);
CREATE TABLE ratings (
    pool {int} NOT NULL,
    rank INTEGER NOT NULL,
    version {int} NOT NULL,
    elo {real} NOT NULL,
    se {real} NOT NULL,
    games {int} NOT NULL,
    score {real} NOT NULL,
    next_elo {real},
    next_se {real},
    next_los {real},
    PRIMARY KEY (pool, rank),
    FOREIGN KEY(pool) REFERENCES pools (id),
    FOREIGN KEY(version) REFERENCES versions (id)
);
CREATE TABLE scores (
    pool {int} NOT NULL,
    version {int} NOT NULL,
    wins {int} NOT NULL,
    ties {int} NOT NULL,
    losses {int} NOT NULL,
    forfeits {int} NOT NULL,
    gifts {int} NOT NULL,
    void {int} NOT NULL,
    PRIMARY KEY (pool, version),
    FOREIGN KEY(pool) REFERENCES pools (id),
    FOREIGN KEY(version) REFERENCES versions (id)
);
CREATE TABLE tallies (
    pool {int} NOT NULL,
    first {int} NOT NULL,
    second {int} NOT NULL,
    issued {int} NOT NULL,
    wins {int} NOT NULL,
    ties {int} NOT NULL,
    losses {int} NOT NULL,
    forfeit_wins {int} NOT NULL,
    forfeit_losses {int} NOT NULL,
    void {int} NOT NULL,
    PRIMARY KEY (pool, first, second),
    FOREIGN KEY(pool) REFERENCES pools (id),
    FOREIGN KEY(first) REFERENCES versions (id),
    FOREIGN KEY(second) REFERENCES versions (id)
);
CREATE TABLE games (
    id {int} NOT NULL,
    key VARCHAR(300) NOT NULL,
    pair {int} NOT NULL,
    pool {int} NOT NULL,
    game SMALLINT NOT NULL,
    attempt SMALLINT NOT NULL,
    finished BOOLEAN NOT NULL,
    first {int} NOT NULL,
    second {int} NOT NULL,
    result VARCHAR(40) NOT NULL,
    winner SMALLINT NOT NULL,
    termination VARCHAR(40) NOT NULL,
    culprit {int} NOT NULL,
    detail TEXT NOT NULL,
    plies INTEGER NOT NULL,
    ms1 {int} NOT NULL,
    ms2 {int} NOT NULL,
    suspect BOOLEAN NOT NULL,
    ended VARCHAR(40) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (key),
    FOREIGN KEY(pair) REFERENCES pairs (id),
    FOREIGN KEY(pool) REFERENCES pools (id),
    FOREIGN KEY(first) REFERENCES versions (id),
    FOREIGN KEY(second) REFERENCES versions (id)
);
CREATE INDEX games_first ON games (first, id);
CREATE INDEX games_pair ON games (pair);
CREATE INDEX games_pool ON games (pool, id);
CREATE INDEX games_second ON games (second, id);
CREATE INDEX games_termination ON games (termination, id);
CREATE TABLE records (
    game {int} NOT NULL,
    data {blob} NOT NULL,
    PRIMARY KEY (game),
    FOREIGN KEY(game) REFERENCES games (id)
);
"""
