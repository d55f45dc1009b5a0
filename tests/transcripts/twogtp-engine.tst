# engine: go
# What gogui-twogtp says to the program that only watches (its referee or observer): the questions at the start
# (GtpClient, Program.java), each game's set-up in the order of GtpSynchronizer.init and sendGameInfo, every move as it
# was played, and at the end the score.
protocol_version
#? [2]
name
#? [ggp-engine]
version
#? [.+]
list_commands
#? [(.+\n)*final_score\n(.+\n)*.+]
boardsize 9
#? []
clear_board
#? []
komi 6.5
#? []
play B E5
#? []
play W C3
#? []
play B PASS
#? []
play W pass
#? []
final_score
#? [[BW]\+[0-9.]+|0]

# The next game; the observer of an opening of several moves gets them in one line.
boardsize 9
#? []
clear_board
#? []
gogui-play_sequence B E5 W C3 B G3
#? []
komi 6.5
#? []
undo
#? []
play W C3
#? [\? illegal move.*]
cputime
#? [\? unknown command]
quit
#? []
