#!/usr/bin/perl
# rank.pl SOCKET N SEED FIRST SECOND: can the holder of the API key SECOND tell by time which prompts FIRST has sent?  N times, FIRST sends
# a new prompt, and then SECOND sends that prompt and another new one of as many words, in random order, each with one token to generate;
# the time of each is measured to the first byte of its stream.  Prints the area under the curve of the rank test (the part of all pairs in
# which the prompt that was known took less time; equal times count half): 0.5 if times tell nothing, 1 if they tell everything.  Then the
# medians of both times, in ms.
use strict;
use warnings;
use IO::Socket::UNIX;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my ($path, $n, $seed, $first, $second) = @ARGV;
$SIG{ALRM} = sub { die "rank.pl: no end in time\n" };
alarm 3000;
srand $seed;
my @words = qw(red blue green dog cat house tree river stone bread salt wind moon star night day);

sub prompt { join ' ', map { $words[rand @words] } 1 .. 160 }

# The time to the first byte of the answer, which is then read to its end.
sub ask {
	my ($key, $prompt) = @_;
	my $s = IO::Socket::UNIX->new(Peer => $path) or die "rank.pl: $path: $!\n";
	my $body = qq({"prompt":"$prompt","max_tokens":1,"temperature":0,"stream":true});
	my $text = join "\r\n", 'POST /v1/completions HTTP/1.1', 'Host: x', 'Connection: close', "X-Api-Key: $key",
		'Content-Type: application/json', 'Content-Length: ' . length $body, '', $body;
	my $from = clock_gettime(CLOCK_MONOTONIC);
	syswrite($s, $text) == length $text or die "rank.pl: not written\n";
	my $got = '';
	my $n = sysread $s, $got, 65536 or die "rank.pl: no answer\n";
	my $time = clock_gettime(CLOCK_MONOTONIC) - $from;
	while ($n) { $n = sysread $s, $got, 65536, length $got }
	$got =~ /^HTTP\/1\.1 200 .*\[DONE\]/s or die "rank.pl: $got\n";
	$time;
}

my (@known, @unknown);
for (1 .. $n) {
	my ($sent, $other) = (prompt(), prompt());
	ask($first, $sent);
	my $swap = rand() < 0.5;
	push @unknown, ask($second, $other) if $swap;
	push @known, ask($second, $sent);
	push @unknown, ask($second, $other) if !$swap;
}

# Mann and Whitney's U by ranks; those of equal times are shared.
my @all = sort { $a->[0] <=> $b->[0] } map({ [$_, 1] } @known), map({ [$_, 0] } @unknown);
my $ranks = 0;
for (my $i = 0; $i < @all;) {
	my $j = $i;
	$j++ while $j < @all && $all[$j][0] == $all[$i][0];
	$ranks += grep({ $_->[1] } @all[$i .. $j - 1]) * ($i + $j + 1) / 2;
	$i = $j;
}
sub median { my @t = sort { $a <=> $b } @_; $t[@t / 2] * 1000 }
printf "%.4f %.3f %.3f\n", 1 - ($ranks - $n * ($n + 1) / 2) / ($n * $n), median(@known), median(@unknown);
