#!/usr/bin/perl
# raw.pl ADDRESS COMMAND [ARG]...: bytes as they are, to a socket in the file system or to HOST:PORT.
#	rows REQUESTS LEFT	send each line of tests/golden/http-requests.txt on a connection of its own, end the sending side, and
#				read until the server ends the connection; rows that are answered otherwise, but for those of LEFT, are
#				printed, and end it with code 1
#	answers			send standard input, end the sending side, print the statuses of the answers
#	whole BYTES		send a request with a wrong key and so many bytes of body, all of it before anything is read
#	hold N ENDS [FROM]	send standard input on N connections, the i-th from 127.0.0.FROM+i; print "held", then "ended I" for each
#				of the first ENDS that the server ends, and keep the others until it is killed
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IO::Select;

$SIG{ALRM} = sub { die "raw.pl: no answer in time\n" };
$SIG{PIPE} = 'IGNORE';
$| = 1;
alarm 300;
my ($address, $command, @args) = @ARGV;

sub dial {
	my ($from) = @_;
	my $s = $address =~ /^[\d.]+:\d+$/
		? IO::Socket::INET->new(PeerAddr => $address, defined $from ? (LocalAddr => $from) : ())
		: IO::Socket::UNIX->new(Peer => $address);
	$s or die "raw.pl: $address: $!\n";
}
sub put {
	my ($s, $text) = @_;
	while (length $text) {
		my $n = syswrite $s, $text or return;
		$text = substr $text, $n;
	}
}
sub rest {
	my ($s) = @_;
	my $got = '';
	while (sysread $s, my $piece, 65536) { $got .= $piece }
	$got;
}
sub exchange {
	my $s = dial();
	put($s, $_[0]);
	shutdown $s, 1;
	join(' ', rest($s) =~ m{HTTP/1\.1 (\d{3}) }g) || '-';
}

my %escape = (r => "\r", n => "\n", t => "\t", 0 => "\0", '\\' => '\\');
sub bytes {
	my ($text) = @_;
	$text =~ s/\{next\}/GET \/version HTTP\/1.1\\r\\nHost: hidden\\r\\n\\r\\n/g;
	$text =~ s/\{([^{}"]+?)\*(\d+)\}/$1 x $2/ge;
	$text =~ s/\\(?:x([0-9a-f]{2})|(.))/defined $1 ? chr hex $1 : $escape{$2}/ge;
	$text;
}
sub lines {
	my ($name) = @_;
	open my $f, '<', $name or die "raw.pl: $name: $!\n";
	chomp(my @all = grep { !/^(#|$)/ } <$f>);
	@all;
}

if ($command eq 'rows') {
	my ($requests, $left) = @args;
	my %left = map { reverse split /\t/ } lines($left);
	my ($bad, $n) = (0, 0);
	for (lines($requests)) {
		my ($want, $name, $text) = split /\t/, $_, 3;
		my $got = exchange(bytes($text));
		$n++;
		next if $got eq $want || $got eq ($left{$name} // '');
		print "$name: wanted $want, got $got\n";
		$bad = 1;
	}
	print "$n rows\n";
	exit $bad;
} elsif ($command eq 'answers') {
	local $/;
	print exchange(scalar <STDIN>), "\n";
} elsif ($command eq 'whole') {
	my $s = dial();
	put($s, "POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: wrong\r\nContent-Type: application/json\r\nContent-Length: $args[0]\r\n\r\n" . ' ' x $args[0]);
	print join(' ', rest($s) =~ m{HTTP/1\.1 (\d{3}) }g), "\n";
} elsif ($command eq 'hold') {
	my ($n, $ends, $from) = @args;
	my $text = do { local $/; <STDIN> } // '';
	my $select = IO::Select->new;
	my %of;
	for my $i (1 .. $n) {
		my $s = dial(defined $from ? '127.0.0.' . ($from + $i) : undef);
		put($s, $text);
		$of{$s} = $i;
		$select->add($s);
	}
	print "held\n";
	while ($ends > 0) {
		for my $s ($select->can_read) {
			next if sysread $s, my $piece, 65536;
			$select->remove($s);
			print "ended $of{$s}\n";
			$ends--;
		}
	}
	sleep 1 while 1;
} else {
	die "raw.pl: $command is no command\n";
}
