# engine: go
# What a GTP controller of today says to set up, play and score a game.
1 protocol_version
#? [2]

2 name
#? [ggp-engine]

3 known_command play
#? [true]

4 known_command genmove
#? [false]

5 boardsize 9
#? []

6 clear_board
#? []

7 komi 6.5
#? []

8 fixed_handicap 3
#? [C7 G7 C3]

9 play W g3
#? []

10 play B PASS
#? []

11 play w pass
#? []

12 final_score
#? [W\+4\.5]

13 play b A1
#? [\? illegal move: the game is over]

14 undo
#? []

15 undo
#? []

16 undo
#? []

17 undo
#? [\? cannot undo]

18 boardsize 40
#? [\? unacceptable size]

19 play b A1
#? []

20 play b A1
#? [\? illegal move: A1 is occupied]

21 play b J10
#? [\? illegal move: J10 is not on the board: the board is 9x9]

22 play b i1
#? [\? illegal move: there is no column I: the letters skip it]

23 play b resign
#? [\? illegal move: resign is an answer to genmove, not a move]

24 set_free_handicap A1 B2
#? [\? board not empty]

25 clear_board
#? []

26 set_free_handicap A1 A1
#? [\? bad vertex list: A1 is named twice]

27 set_free_handicap A1 B2
#? []

28 ggp-status
#? [phase=play to_play=white seat=2 ply=0]

29 loadsgf no-such-file.sgf
#? [\? cannot load file: No such file or directory]

30 quit
#? []
