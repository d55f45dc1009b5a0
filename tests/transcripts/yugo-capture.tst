# engine: yugo size=5 komi=0
# The end of a suicide fight in Yugo, reached by play with two more black pawns: Black's king at A2 captures A1,
# White's A1 is legal at once; as it stands 4 to 3.
ggp-options
#? [size int 9 2\.\.25\nkomi int 7 \*\nhandicap int 0 0,2\.\.9\nagreement enum off on,off]

play b B1
#? []

play w A1
#? []

ggp-play b D5
#? [move=D5 phase=play to_play=white seat=2 ply=3]

ggp-play w B2
#? [move=B2 phase=play to_play=black seat=1 ply=4]

ggp-play b D4
#? [move=D4 phase=play to_play=white seat=2 ply=5]

ggp-play w A3
#? [move=A3 phase=play to_play=black seat=1 ply=6]

ggp-legal A2
#? [true]

ggp-play b A2
#? [move=A2 phase=play to_play=white seat=2 ply=7]

showboard
#? [\n  A B C D E\n5 \. \. \. X \. 5\n4 \. \. \. X \. 4\n3 O \. \. \. \. 3\n2\(#\)O \. \. \. 2\n1 \. X \. \. \. 1\n  A B C D E\n# black king, X black pawn, O white pawn\nBlack has captured 1\nWhite has captured 0\nThe button is free\nKomi: 0\nWhite to move \(seat 2\)]

ggp-legal A1
#? [true]

ggp-play w A1
#? [move=A1 phase=play to_play=black seat=1 ply=8]

ggp-undo
#? [phase=play to_play=white seat=2 ply=7]

ggp-play w A1
#? [move=A1 phase=play to_play=black seat=1 ply=8]

final_score
#? [B\+1]

ggp-score
#? [\{"black": \{"total": 4, "territory": 0, "pieces": 3, "surrounded_kings": 1, "button": 0, "handicap": 0\}, "white": \{"total": 3, "territory": 0, "pieces": 2, "surrounded_kings": 1, "button": 0, "komi": 0\}, "final": false\}]

ggp-history
#? [1 black B1\n2 white A1\n1 black D5\n2 white B2\n1 black D4\n2 white A3\n1 black A2\n2 white A1]

ggp-legal C9
#? [false C9 is not on the board: the board is 5x5]

ggp-play b C3
#? [move=C3 phase=play to_play=white seat=2 ply=9]
