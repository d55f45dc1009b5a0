#!/usr/bin/env perl
# A whole bot in one Perl file: it plays any legal move, in every game that an engine knows. It needs no module from
# CPAN.
#
#     run      perl bots/examples/legal_bot.pl ggp engine
#     match    ggp match yugo "perl bots/examples/legal_bot.pl" random
#
# It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
# passes on what it receives, and draws one of the moves that the engine lists. Replace choose() by something better.
use strict;
use warnings;
use IPC::Open2;

$| = 1;    # flush every answer
my @commands = qw(genmove ggp-games ggp-new known_command list_commands name play protocol_version quit version);
my %known    = map { $_ => 1 } @commands;

# One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that.
sub choose { return $_[ rand @_ ] }

# The engine ends when its input does, so it never outlives the bot.
my @engine = @ARGV ? @ARGV : qw(ggp engine);
my $pid    = open2(my $from, my $to, @engine);

# Whether the engine could obey, and the text of its answer, which an empty line ends.
sub ask {
    print $to "@_\n";
    my $answer = '';
    until ($answer =~ /\n\n\z/) {
        my $line = <$from> // die "the engine ended: @engine\n";
        $answer .= $line;
    }
    my ($mark, $text) = $answer =~ /^(.) ?(.*?)\n\n\z/s;
    return ($mark eq '=', $text);
}

sub genmove {
    my ($done, $text) = ask('ggp-legal_moves');
    return ($done, $text) if !$done;
    return (1, 'pass') if $text eq '';    # the game is over
    my $move = choose(split ' ', $text);
    ($done, $text) = ask('ggp-play', @_, $move);    # our own move is not sent to us
    return ($done, $done ? $move : $text);
}

# Each command gets its arguments and gives whether it succeeded, and the text of the answer.
my %table = (
    name             => sub { (1, 'Legal bot in Perl') },
    version          => sub { (1, '1') },
    protocol_version => sub { (1, '2') },
    list_commands    => sub { (1, join "\n", @commands) },
    known_command    => sub { (1, @_ && $known{ $_[0] } ? 'true' : 'false') },
    quit             => sub { (1, '') },
    genmove          => \&genmove,
    'ggp-games'      => sub { ask('ggp-games') },
    'ggp-new'        => sub { my ($done, $text) = ask('ggp-new', @_); ($done, $done ? '' : $text) },
    play             => sub { my ($done, $text) = ask('ggp-play', @_); ($done, $done ? '' : $text) },
);

while (defined(my $line = <STDIN>)) {
    last if $line !~ s/\n\z//;    # the input ended within a line
    my ($id, $name, $done, $text) = ('', '', 0, 'line too long');
    if (length $line <= 65536) {
        $line =~ s/[\x00-\x08\x0a-\x1f\x7f]//g;
        $line =~ s/#.*//;
        my @words = grep { $_ ne '' } split /[ \t]/, $line;
        $id = shift @words if @words > 1 && $words[0] =~ /\A[0-9]{1,10}\z/ && $words[0] < 2**31;
        next if !@words;
        $name = shift @words;
        ($done, $text) = $table{$name} ? $table{$name}->(@words) : (0, 'unknown command');
    }
    print $done ? '=' : '?', $id, $text eq '' ? '' : " $text", "\n\n";
    last if $name eq 'quit';
}
close $to;
waitpid $pid, 0;
