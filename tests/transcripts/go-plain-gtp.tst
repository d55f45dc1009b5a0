# engine: go
# What a GTP controller of today says to set up, play and score a game.
1 protocol_version
=1 2

2 name
=2 ggp-engine

3 known_command play
=3 true

4 known_command genmove
=4 false

5 boardsize 9
=5

6 clear_board
=6

7 komi 6.5
=7

8 fixed_handicap 3
=8 C7 G7 C3

9 play W g3
=9

10 play B PASS
=10

11 play w pass
=11

12 final_score
=12 W+4.5

13 play b A1
?13 illegal move: the game is over

14 undo
=14

15 undo
=15

16 undo
=16

17 undo
?17 cannot undo

18 boardsize 40
?18 unacceptable size

19 play b A1
=19

20 play b A1
?20 illegal move: A1 is occupied

21 play b J10
?21 illegal move: J10 is not on the board: the board is 9x9

22 play b i1
?22 illegal move: there is no column I: the letters skip it

23 play b resign
?23 illegal move: resign is an answer to genmove, never a play

24 set_free_handicap A1 B2
?24 board not empty

25 clear_board
=25

26 set_free_handicap A1 A1
?26 bad vertex list: A1 is named twice

27 set_free_handicap A1 B2
=27

28 ggp-status
=28 phase=play to_play=white seat=2 ply=0

29 loadsgf no-such-file.sgf
?29 cannot load file: No such file or directory

30 quit
=30
