# bot: random
# What gogui-twogtp says to a player: as to a referee, and genmove where it is its turn. It asks for cputime and sends
# time_settings only to who lists them.
protocol_version
#? [2]
name
#? [random]
version
#? [.+]
list_commands
#? [(.+\n)*genmove(\n.+)*]
boardsize 9
#? []
clear_board
#? []
komi 6.5
#? []
genmove b
#? [[A-HJ][1-9]]
play W E5
#? [.*]&
genmove b
#? [[A-HJ][1-9]]
final_score
#? [.*]&
boardsize 9
#? []
clear_board
#? []
komi 6.5
#? []
quit
#? []
