#!/usr/bin/perl
# hurt.pl SOCKET N SEED [BODY]: N clients of infer-serve that go away at a random moment, from before their first byte to the middle of
# a stream, two dozen at once, and among them requests that stay.  Those must get the answers that they got before, alone.  In the end
# the server must be idle: nothing runs or waits, and no sequence holds a page.  BODY: members of the bodies of those who go, for another
# model.
use strict;
use warnings;
use IO::Socket::UNIX;
use IO::Select;
use JSON::PP;
use Time::HiRes qw(time);

my ($path, $n, $seed, $more) = @ARGV;
my ($at_once, $stay) = (24, 4);
$SIG{PIPE} = 'IGNORE';
$SIG{ALRM} = sub { die "hurt.pl: no end in time\n" };
alarm 3000;
srand $seed;

sub dial {
	my $s = IO::Socket::UNIX->new(Peer => $path) or die "hurt.pl: $path: $!\n";
	$s->blocking(0);
	$s;
}
sub request {
	my ($method, $at, $body, @more) = @_;
	join("\r\n", "$method $at HTTP/1.1", 'Host: x', @more, 'Content-Length: ' . length($body // ''), '', '') . ($body // '');
}

# What an answer says, but for names and times.
sub said {
	my ($head, $body) = split /\r\n\r\n/, shift, 2;
	$head =~ /^HTTP\/1\.1 200 / or die "hurt.pl: $head\n$body\n";
	my $a = decode_json($body);
	JSON::PP->new->canonical->encode([ map { [ $_->{text}, $_->{finish_reason}, $_->{logprobs} ] } @{ $a->{choices} } ]) . " $a->{usage}{completion_tokens}";
}
sub ask {
	my $s = IO::Socket::UNIX->new(Peer => $path) or die "hurt.pl: $path: $!\n";
	syswrite $s, request(@_, 'Connection: close');
	local $/;
	scalar <$s>;
}
sub gauge { my ($m, $name) = @_; $m =~ /^infer_$name\{[^}]*\} (\S+)$/m ? $1 : die "hurt.pl: no $name\n" }
sub metrics {
	my $m;
	for (1 .. 2400) {
		$m = ask('GET', '/metrics', '');
		last if !gauge($m, 'num_requests_running') && !gauge($m, 'num_requests_waiting');
		select undef, undef, undef, 0.05;
	}
	$m;
}

my @words = map { chr(97 + $_ % 26) . ' story ' x ($_ % 5) . $_ } 1 .. 40;
sub words { join ' ', map { $words[ rand @words ] } 1 .. 1 + int rand shift }
my @kept = map { request('POST', '/v1/completions', encode_json({ prompt => words(12), seed => $_, max_tokens => 4 + $_ % 9, logprobs => 1, n => 1 + ($_ % 4 == 3) }), 'Connection: close') } 1 .. 16;
sub alone {
	my $s = IO::Socket::UNIX->new(Peer => $path) or die;
	syswrite $s, shift;
	local $/;
	said(scalar <$s>);
}
my @wanted = map { alone($_) } @kept;
metrics();

# How one who goes goes: bytes that it sends, and what ends it: so many bytes of the answer, or a moment; or only its sending side.
sub victim {
	my $body = '{"prompt":' . encode_json([ words(30) ])
		. ',"max_tokens":' . (1 + int rand 120) . ($more ? ",$more" : '') . ',"ignore_eos":true,"n":' . (1 + int rand 3);
	$body =~ s/:\[(".*?")\]/:$1/;
	my $plain = request('POST', '/v1/completions', "$body}");
	my $stream = request('POST', '/v1/completions', "$body,\"stream\":true}");
	my $chunks = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" . join '', map { sprintf "%x\r\n%s\r\n", length, $_ } unpack '(a17)*', "$body}";
	my $soon = 0.03 * rand;
	(
		sub { ('', 0, $soon) },
		sub { (substr($plain, 0, rand 60), 0, $soon) },
		sub { (substr($plain, 0, rand length $plain), 0, $soon) },
		sub { (substr($chunks, 0, rand length $chunks), 0, $soon) },
		sub { ($plain, 0, 0) },
		sub { ($plain, 0, $soon) },
		sub { ($plain, 0, 5 * $soon) },
		sub { ($stream, 1 + int rand 3000, 9) },
		sub { ($stream, 0, $soon) },
		sub { ($plain . $stream, 1 + int rand 1500, 9) },
		sub { ($stream, 1 << 30, 9, 1) },
		sub { ($plain, 1 << 30, 9, 1) },
	)[ rand 12 ]->();
}

my ($select, $gone, $same, $running, $kept) = (IO::Select->new, 0, 0, 0, 0);
my %of;
sub end { my $s = shift; $select->remove($s); delete $of{$s}; close $s }
while ($gone < $n || $kept) {
	while ($gone + $running < $n && $running < $at_once) {
		my ($bytes, $upto, $after, $half) = victim();
		my $s = dial();
		syswrite $s, $bytes if length $bytes;
		shutdown $s, 1 if $half;
		$of{$s} = { s => $s, upto => $upto, till => time + $after, got => 0 };
		$select->add($s);
		$running++;
	}
	while ($kept < $stay && $gone < $n) {
		my $s = dial();
		my $i = int rand @kept;
		syswrite $s, $kept[$i];
		$of{$s} = { s => $s, keep => 1, i => $i, text => '' };
		$select->add($s);
		$kept++;
	}
	for my $s ($select->can_read(0.002)) {
		my $o = $of{$s};
		my $got = sysread $s, my $piece, 65536;
		if ($o->{keep}) {
			$o->{text} .= $piece if $got;
			next if $got;
			die "hurt.pl: the answer of one who stays differs\n" . said($o->{text}) . "\n$wanted[$o->{i}]\n" if said($o->{text}) ne $wanted[ $o->{i} ];
			$same++, $kept--;
			end($s);
		} else {
			$o->{got} += $got // 0;
			$o->{till} = 0 if !$got || $o->{got} > $o->{upto} && $o->{upto};
		}
	}
	my $now = time;
	for my $o (values %of) {
		next if $o->{keep} || $o->{till} > $now;
		end($o->{s});
		$gone++, $running--;
	}
}
my $after = metrics();
for my $name ('num_requests_running', 'num_requests_waiting') {
	die "hurt.pl: $name is " . gauge($after, $name) . "\n" if gauge($after, $name);
}
my $left = gauge($after, 'kv_cache_usage_ratio');
die "hurt.pl: $left of the cache is in use\n" if $left;
print "$gone went, $same stayed\n";
