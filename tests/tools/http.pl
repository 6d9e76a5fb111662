#!/usr/bin/perl
# http.pl SOCKET COMMAND [ARG]...: a client for serve.bats, over a socket in the file system.  It ends with an error where an answer
# is not what HTTP/1.1 and server-sent events allow.
#	ask METHOD PATH [BODY [HEADER]...]	the body of the answer; its head into the file `head`, a line each, status first
#	upload PURPOSE [NAME [HEADER]...]	the same of POST /v1/files with standard input as the file, called in.jsonl
#	stream PATH BODY			what each event says, a line each; the file `chunks` gets how many events each chunk has
#	events PATH BODY			the same of a stream that ends without [DONE]
#	named PATH BODY			the same of a stream whose events have names, which their data repeats
#	send				standard input as it is; everything that comes until the server closes the connection
#	many N PATH [HEADER]...			the lines of standard input as bodies, N at once; answers in the order of the lines
#	leave N PATH BODY			a stream, closed after N events
#	chunked BYTES PATH			a body of so many bytes, in chunks
#	idle PATH BODY SECONDS			a stream that is not read for so long, then is; how many events there were
use strict;
use warnings;
use IO::Socket::UNIX;
use IO::Select;

$SIG{ALRM} = sub { die "http.pl: no answer in time\n" };
$SIG{PIPE} = 'IGNORE';
alarm 300;
my ($path, $command, @args) = @ARGV;

sub dial { IO::Socket::UNIX->new(Peer => $path) or die "http.pl: $path: $!\n" }

# Write all of it, or as much as the server takes.
sub put {
	my ($s, $text) = @_;
	while (length $text) {
		my $n = syswrite $s, $text or return 0;
		$text = substr $text, $n;
	}
	1;
}

sub request {
	my ($method, $at, $body, @headers) = @_;
	unshift @headers, 'Content-Type: application/json' if defined $body && !grep /^content-type:/i, @headers;
	push @headers, 'Content-Length: ' . length $body if defined $body;
	join("\r\n", "$method $at HTTP/1.1", 'Host: x', grep({ $_ !~ /: ?$/ } @headers), '', '') . ($body // '');
}

# A reader of one connection: what was read and not used.
sub reader { { s => $_[0], at => '' } }
sub more {
	my $r = shift;
	my $n = sysread $r->{s}, my $piece, 65536;
	die "http.pl: the connection ended too soon\n" if !$n;
	$r->{at} .= $piece;
}
sub upto {
	my ($r, $mark) = @_;
	my $i;
	more($r) while ($i = index $r->{at}, $mark) < 0;
	my $got = substr $r->{at}, 0, $i;
	$r->{at} = substr $r->{at}, $i + length $mark;
	$got;
}
sub bytes {
	my ($r, $n) = @_;
	more($r) while length $r->{at} < $n;
	my $got = substr $r->{at}, 0, $n;
	$r->{at} = substr $r->{at}, $n;
	$got;
}

sub head {
	my $r = shift;
	my ($first, @lines) = split /\r\n/, upto($r, "\r\n\r\n");
	$first =~ /^HTTP\/1\.1 (\d{3}) [\w -]+$/ or die "http.pl: '$first' is no status line\n";
	my %h = (status => $1, lines => [@lines]);
	for (@lines) {
		/^([\w-]+): (.*)$/ && $2 !~ /[\r\n]/ or die "http.pl: '$_' is no field\n";
		die "http.pl: $1 comes twice\n" if exists $h{lc $1};
		$h{lc $1} = $2;
	}
	if ($h{status} == 100) { return head($r) }
	\%h;
}

# The next chunk; '': the last.
sub chunk {
	my $r = shift;
	my $size = upto($r, "\r\n");
	$size =~ /^[0-9a-fA-F]+$/ or die "http.pl: '$size' is no size of a chunk\n";
	my $got = bytes($r, hex $size);
	bytes($r, 2) eq "\r\n" or die "http.pl: a chunk does not end\n";
	$got;
}

sub answer {
	my ($r, $method) = @_;
	my $h = head($r);
	return ($h, '') if $method eq 'HEAD';
	my $body = '';
	if (($h->{'transfer-encoding'} // '') eq 'chunked') {
		die "http.pl: chunks and a length\n" if exists $h->{'content-length'};
		while (length(my $c = chunk($r))) { $body .= $c }
	} else {
		exists $h->{'content-length'} or die "http.pl: no length\n";
		$body = bytes($r, $h->{'content-length'});
	}
	($h, $body);
}

# The data of each event of a text that must be whole events.
sub events {
	my $text = shift;
	my @data;
	while (length $text) {
		$text =~ s/\A(?:event: [\w.]+\n)?data: ([^\r\n]*)\n\n// or die "http.pl: no event: " . substr($text, 0, 80) . "\n";
		my $d = $1;
		utf8::decode(my $copy = $d) or die "http.pl: an event is not UTF-8\n";
		push @data, $d;
	}
	@data;
}

# The same where each event has a name, its data says it as its type, and nothing comes behind the last.
sub named {
	my $r = shift;
	my $text = '';
	stream_head($r);
	while (length(my $c = chunk($r))) {
		$c =~ /\n\n\z/ or die "http.pl: a chunk ends inside an event\n";
		$text .= $c;
	}
	my @names = $text =~ /^event: ([\w.]+)\ndata: \{"type":"/mg;
	my @all = events($text);
	@names == @all or die "http.pl: an event has no name\n";
	for my $i (0 .. $#all) { $all[$i] =~ /^\{"type":"\Q$names[$i]\E"/ or die "http.pl: $names[$i] is of another type\n" }
	@all;
}

sub stream_head {
	my $r = shift;
	my $h = head($r);
	$h->{status} == 200 or die "http.pl: $h->{status}: " . bytes($r, $h->{'content-length'}) . "\n";
	$h->{'content-type'} eq 'text/event-stream' or die "http.pl: the type is $h->{'content-type'}\n";
	$h->{'cache-control'} eq 'no-cache' && $h->{'x-accel-buffering'} eq 'no' or die "http.pl: fields of a stream are missing\n";
	$h->{'transfer-encoding'} eq 'chunked' or die "http.pl: no chunks\n";
}

# All events of a stream; how many there were in each chunk.
sub stream {
	my $r = shift;
	my (@all, @sizes);
	stream_head($r);
	while (length(my $c = chunk($r))) {
		my @e = events($c);
		push @all, @e;
		push @sizes, scalar @e;
	}
	@all && $all[-1] eq '[DONE]' or die "http.pl: the stream ends without [DONE]\n";
	grep({ $_ eq '[DONE]' } @all) == 1 or die "http.pl: [DONE] comes twice\n";
	(\@all, \@sizes);
}

sub save {
	my ($name, @lines) = @_;
	open my $f, '>', $name or die "http.pl: $name: $!\n";
	print $f "$_\n" for @lines;
	close $f;
}

# One request; its answer is printed, and its head kept.
sub ask {
	my ($method) = @_;
	my $r = reader(dial());
	put($r->{s}, request(@_));
	my ($h, $body) = answer($r, $method);
	save('head', $h->{status}, @{ $h->{lines} });
	print $body, length $body && $body !~ /\n\z/ ? "\n" : '';
}

if ($command eq 'ask') {
	ask(@args);
} elsif ($command eq 'upload') {
	my ($purpose, $name, @headers) = @args;
	$name //= 'in.jsonl';
	my $file = do { local $/; <STDIN> } // '';
	my $part = "--part-of-a-form\r\nContent-Disposition: form-data; name=";
	ask('POST', '/v1/files', qq($part"purpose"\r\n\r\n$purpose\r\n$part"file"; filename="$name"\r\n\r\n$file\r\n--part-of-a-form--\r\n),
		'Content-Type: multipart/form-data; boundary=part-of-a-form', @headers);
} elsif ($command eq 'stream') {
	my $r = reader(dial());
	put($r->{s}, request('POST', @args));
	my ($all, $sizes) = stream($r);
	save('chunks', @$sizes);
	print "$_\n" for @$all;
} elsif ($command eq 'events') {
	my $r = reader(dial());
	put($r->{s}, request('POST', @args));
	stream_head($r);
	my $text = '';
	while (length(my $c = chunk($r))) { $text .= $c }
	print "$_\n" for events($text);
} elsif ($command eq 'named') {
	my $r = reader(dial());
	put($r->{s}, request('POST', @args));
	print "$_\n" for named($r);
} elsif ($command eq 'send') {
	my $s = dial();
	local $/;
	put($s, scalar <STDIN>);
	while (sysread $s, my $piece, 65536) { print $piece }
} elsif ($command eq 'many') {
	my ($n, $at, @headers) = @args;
	chomp(my @bodies = <STDIN>);
	my (@answers, %of, $next);
	my $select = IO::Select->new;
	my $dial = sub {
		return if ($next //= 0) >= @bodies;
		my $s = dial();
		put($s, request('POST', $at, $bodies[$next], 'Connection: close', @headers));
		$of{$s} = [$next++, ''];
		$select->add($s);
	};
	$dial->() for 1 .. $n;
	while ($select->count) {
		for my $s ($select->can_read) {
			my $got = sysread $s, $of{$s}[1], 65536, length $of{$s}[1];
			next if $got;
			$select->remove($s);
			my ($h, $body) = answer({ s => $s, at => $of{$s}[1] }, 'POST');
			$answers[$of{$s}[0]] = $body;
			delete $of{$s};
			close $s;
			$dial->();
		}
	}
	print "$_\n" for @answers;
} elsif ($command eq 'leave') {
	my ($n, @rest) = @args;
	my $r = reader(dial());
	put($r->{s}, request('POST', @rest));
	stream_head($r) if $n;
	for (my $got = 0; $got < $n;) { $got += events(chunk($r)) }
} elsif ($command eq 'chunked') {
	my ($size, $at) = @args;
	my $s = dial();
	my $r = reader($s);
	put($s, request('POST', $at, undef, 'Content-Type: application/json', 'Transfer-Encoding: chunked'));
	for (my $left = $size; $left > 0; $left -= 65536) {
		my $n = $left < 65536 ? $left : 65536;
		put($s, sprintf("%x\r\n", $n) . ' ' x $n . "\r\n") or last;
	}
	put($s, "0\r\n\r\n");
	my ($h, $body) = answer($r, 'POST');
	print "$h->{status} $body\n";
} elsif ($command eq 'idle') {
	my ($at, $body, $seconds) = @args;
	my $r = reader(dial());
	put($r->{s}, request('POST', $at, $body));
	sleep $seconds;
	my ($all) = stream($r);
	print scalar(@$all), "\n";
} else {
	die "http.pl: $command is no command\n";
}
