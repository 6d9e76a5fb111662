# infer-serve: what RFC 9112 says of requests, clients that leave or dawdle, and how many places they get
load lib
load serve

setup_more() { export RAW=$TOP/tests/tools/raw.pl G=$TOP/tests/golden; }
teardown()
{
	for p in ${HELD:-} ${PID:-}; do
		{ kill -KILL "$p" && wait "$p"; } 2>/dev/null || :
	done
}
# over TCP: the address in $AT
serve_tcp()
{
	rm -f up
	env --default-signal=INT,TERM,PIPE infer-serve -m "$M" -t 2 --listen 127.0.0.1:0 "$@" >up 2>said 3>&- &
	PID=$!
	up up
	AT=$(sed 's,.*//,,' up)
}
raw() { perl "$RAW" "$@"; }
# hold ARG...: raw.pl hold in the background, of the bytes in `sent`, until its connections are there
hold()
{
	rm -f held
	perl "$RAW" "$AT" hold "$@" <sent >held 3>&- &
	HELD="${HELD:-} $!"
	until_line held held
}
# until the file has this line, at most a minute
until_line()
{
	for _ in $(seq 600); do
		! grep -qx "$2" "$1" || return 0
		sleep 0.1
	done
	cat "$1"
	return 1
}
half() { printf 'POST /ping HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"pro'; }
health() { curl -sS -m 60 "http://$AT/health" | json status; }

@test "requests as RFC 9112 says: those that are not are refused, and nothing after them is answered" {
	serve -m "$M" --header-timeout 600 --body-timeout 600
	raw own rows "$G/http-requests.txt" "$G/http-left.txt" >out || { cat out; false; }
	[ "$(sed -n 's/ rows$//p' out)" -ge 170 ]
	same ok "$(own ask GET /health | json status)"
}

@test "the same over TCP" {
	serve_tcp --server-name x --server-name hidden --header-timeout 600 --body-timeout 600
	raw "$AT" rows "$G/http-requests.txt" "$G/http-left.txt" >out || { cat out; false; }
	same ok "$(health)"
}

@test "a head of any size is answered" {
	serve -m "$M"
	for n in $(seq 500 2500 38000) 60000 64000 65000 66000; do
		perl -e 'printf "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: %s\r\n\r\n", "a" x shift' "$n" | raw own answers
		perl -e 'printf "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", "a: b\r\n" x (shift() / 100)' "$n" | raw own answers
	done | sort | uniq -c >out
	same '200 431' "$(awk '{ print $2 }' out | xargs)"
}

@test "clients that close in a head or a body, or only their sending side, keep no place" {
	serve_tcp --max-connections 16 --header-timeout 600 --body-timeout 600
	flood -r 500 -s 2 -a 200 "${AT##*:}" >out
	[ "$(json asked <out)" -gt 0 ]
	same 0 "$(json failed <out)"
	# over a socket in the file system
	serve_own=$PID
	serve -m "$M" --max-connections 4 --header-timeout 600 --body-timeout 600
	for _ in 1 2 3 4 5 6; do
		same - "$(half | raw own answers)"
		same - "$(printf 'GET /hea' | raw own answers)"
	done
	same ok "$(own ask GET /health | json status)"
	kill -KILL "$serve_own"
}

@test "a key is asked for at the head, before the body; its answer arrives even if the body is sent" {
	echo first-key >keys
	serve_tcp --api-key-file keys --body-timeout 600
	printf 'POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{' >some
	# nothing more is sent, and the sending side stays open
	perl -MIO::Socket::INET -e '
		my $s = IO::Socket::INET->new(PeerAddr => shift) or die;
		print $s do { local $/; <STDIN> };
		$s->flush;
		local $/;
		print <$s>;' "$AT" <some >out
	grep -q '^HTTP/1.1 401 ' out
	grep -q '^Connection: close' out
	for n in 1000 1000000 8000000; do
		same 401 "$(raw "$AT" whole $n)"
	done
}

@test "an address has a quarter of the places for requests that are not whole; trusted proxies and sockets of files have all" {
	serve_tcp --max-connections 12 --header-timeout 600 --body-timeout 600
	half >sent
	hold 5 3
	until_line held 'ended 1'
	until_line held 'ended 2'
	same ok "$(health)"
	until_line held 'ended 3' # for the connection that asked
	same 3 "$(grep -c ended held)"
	kill -KILL $HELD $PID
	HELD=
	fails 2 "must be an IPv4 or IPv6 address" infer-serve -m "$M" --listen unix:own --trusted-proxy localhost
	serve_tcp --max-connections 12 --header-timeout 600 --body-timeout 600 --trusted-proxy ::1 --trusted-proxy 127.0.0.1
	half >sent
	hold 10 0
	same ok "$(health)"
	same held "$(cat held)"
	kill -KILL $HELD $PID
	HELD=
	serve -m "$M" --max-connections 12 --header-timeout 600 --body-timeout 600
	AT=own
	half >sent
	hold 10 0
	same ok "$(own ask GET /health | json status)"
	same held "$(cat held)"
}

@test "if all places are taken, those that are silent give way" {
	serve_tcp --max-connections 4 --header-timeout 600 --body-timeout 600
	printf 'GET /hea' >sent
	hold 4 1 1
	same ok "$(health)"
	kill -KILL $HELD
	HELD=
	# answered, and kept open
	printf 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' >sent
	hold 4 1 1
	same ok "$(health)"
}

@test "SIGTERM: bodies that do not arrive are not waited for" {
	serve_tcp --max-connections 300 --trusted-proxy 127.0.0.1 --drain 600 --body-timeout 600
	half >sent
	hold 200 200
	kill -TERM $PID
	rc=0
	wait $PID || rc=$?
	PID=
	same 0 "$rc"
	until_line held 'ended 200'
}
