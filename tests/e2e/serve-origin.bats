# infer-serve on a port: which names a request may ask for, whose pages may send one; the example for nginx
load lib
load serve

# listen OPTION...: a server at a free port of this machine; its address to URL, its port to PORT
listen()
{
	rm -f up
	env --default-signal=TERM infer-serve -q -t 2 -m "$M" --listen 127.0.0.1:0 "$@" >up 2>said 3>&- &
	PID=$!
	up up
	URL=$(cat up)
	PORT=${URL##*:}
}
# code CURL-ARGUMENT...: the status, the answer to `body`
code() { curl -s --noproxy '*' -o body -w '%{http_code}\n' "$@"; }
# refused_name HOST: 403, and the message names it
refused_name()
{
	same "$1 403" "$1 $(code -H "Host: $1" "$URL/v1/models")"
	json error.message <body | grep -qF "not '$1'"
}

@test "a loopback address: the names of this machine, of --listen and of --server-name; any name with a key, or on a socket" {
	listen --server-name Infer.example --server-name other.example
	for host in localhost "localhost:$PORT" 127.0.0.1 "127.0.0.1:$PORT" '[::1]' '[::1]:99' infer.example INFER.EXAMPLE:8443 other.example; do
		same "$host 200" "$host $(code -H "Host: $host" "$URL/v1/models")"
	done
	for host in evil.example "evil.example:$PORT" localhost.evil.example xinfer.example 10.0.0.1 0.0.0.0 '[::2]'; do
		refused_name "$host"
	done
	# neither is the name of a host
	for host in a@localhost localhost:80:80; do
		same "$host 400" "$host $(code -H "Host: $host" "$URL/v1/models")"
	done
	# no request that generates, counts or is asked before another is let through
	for path in /v1/completions /tokenize /v1/infer; do
		same 403 "$(code -H 'Host: evil.example' -H 'Content-Type: application/json' -d '{"prompt":"the","max_tokens":1,"content":"a"}' "$URL$path")"
	done
	same 403 "$(code -X OPTIONS -H 'Host: evil.example' "$URL/v1/completions")"
	same 403 "$(code -H 'Host: evil.example' "$URL/")"
	end_server
	printf 'mine\n' >keys
	listen --api-key-file keys
	same 200 "$(code -H 'Host: evil.example' -H 'X-Api-Key: mine' "$URL/version")"
	same 401 "$(code -H 'X-Api-Key: other' "$URL/version")"
	same 403 "$(code -H 'Host: evil.example' -H 'X-Api-Key: other' "$URL/version")"
	same 403 "$(code -H 'Host: evil.example' "$URL/health")"
	end_server
	serve -m "$M"
	same 200 "$(code --unix-socket own http://evil.example/version)"
	end_server
	listen --server-name infer.example --listen "localhost:0"
	same '200 200' "$(code "$URL/version") $(code -H 'Host: infer.example' "$URL/version")"
	refused_name evil.example
	end_server
	PID=
	for bad in '' http://a.example a.example:80 'a b' a/b '[::1' '[x]'; do
		fails 2 'server-name' infer-serve -m "$M" --listen unix:x --server-name "$bad"
	done
	fails 2 'host.*--listen ADDR:PORT' infer-serve -m "$M" --host localhost
}

@test "an address that others can reach has any name, unless --server-name says which" {
	listen --listen 0.0.0.0:0
	same 200 "$(code -H 'Host: any.example' "http://127.0.0.1:$PORT/version")"
	end_server
	listen --listen 0.0.0.0:0 --server-name infer.example
	URL=http://127.0.0.1:$PORT
	same '200 200' "$(code -H 'Host: infer.example' "$URL/version") $(code "$URL/version")"
	refused_name any.example
}

@test "--cors: a page of another origin is refused before anything runs, the server's own page is not; a body must say what it is" {
	listen --cors http://good.example
	ask() { code -H 'Content-Type: application/json' -d '{"content":"a"}' "$@" "$URL/tokenize"; }
	same 200 "$(ask)"
	for origin in http://good.example "$URL" ; do
		same "$origin 200" "$origin $(ask -H "Origin: $origin")"
	done
	same 200 "$(ask -H "Origin: http://localhost:$PORT" -H "Host: localhost:$PORT")"
	for origin in http://evil.example http://good.example.evil http://good.example:81 https://good.example http://127.0.0.1 http://127.0.0.1:1 null; do
		same "$origin 403" "$origin $(ask -H "Origin: $origin")"
		json error.message <body | grep -qF "pages of $origin may not"
		same "$origin 403" "$origin $(code -H "Origin: $origin" "$URL/version")"
		same "$origin 403" "$origin $(code -X OPTIONS -H "Origin: $origin" "$URL/tokenize")"
	done
	# after the name was given to this machine, a page of it is of the same origin; its name tells
	same 403 "$(ask -H 'Host: evil.example' -H 'Origin: http://evil.example')"
	# no browser asks first about a request whose body has no type
	post() { code -X POST -H 'Content-Type:' --data-binary '{"content":"a"}' "$@" "$URL/tokenize"; }
	same 415 "$(post -H 'Origin: http://good.example')"
	same 415 "$(post -H 'Origin: http://good.example' -H 'Transfer-Encoding: chunked')"
	end_server
	listen
	same '200 415' "$(ask -H 'Origin: http://any.example') $(post -H 'Origin: http://any.example')"
}

@test "the example for nginx: names, TLS, streams, bodies, what stays here" {
	command -v nginx >/dev/null && command -v openssl >/dev/null || skip "needs nginx and openssl (packages nginx-light, openssl)"
	listen --server-name infer.example --cors https://infer.example
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 \
		-subj /CN=infer.example -addext 'subjectAltName=DNS:infer.example' 2>why
	for _ in 1 2 3 4 5; do
		front=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1)->sockport')
		sed "s|127.0.0.1:8080|127.0.0.1:$PORT|; s|listen 443 ssl|listen 127.0.0.1:$front ssl|; s|/etc/.*\.pem|$PWD/cert.pem|; s|/etc/.*\.key|$PWD/key.pem|" \
			"$TOP/cmd/infer-serve/nginx.conf.example" >site.conf
		mkdir -p temp
		{
			[ "$(id -u)" != 0 ] || echo 'user root;'
			echo "daemon off; pid $PWD/pid; error_log $PWD/errors; events {} http { access_log $PWD/front;"
			for part in client_body proxy fastcgi uwsgi scgi; do echo "${part}_temp_path $PWD/temp/$part;"; done
			echo "include $PWD/site.conf; }"
		} >nginx.conf
		nginx -e "$PWD/errors" -c "$PWD/nginx.conf" 3>&- &
		FRONT=$!
		for _ in $(seq 100); do
			[ ! -s pid ] || break 2
			kill -0 $FRONT 2>/dev/null || break
			sleep 0.1
		done
	done
	through() { code --cacert cert.pem --connect-to "infer.example:443:127.0.0.1:$front" --connect-to "infer.example:$front:127.0.0.1:$front" "$@"; }
	AT=https://infer.example:$front
	rc=0
	{
		same 200 "$(through "$AT/v1/models")" &&
		same 200 "$(through -H "Origin: $AT" -H 'Content-Type: application/json' -d '{"content":"a"}' "$AT/tokenize")" &&
		same 403 "$(through -H 'Origin: https://evil.example' "$AT/v1/models")" &&
		same 403 "$(through -H 'Host: evil.example' "$AT/v1/models")" &&
		same '404 404' "$(through "$AT/metrics") $(through "$AT/slots")" &&
		same 200 "$(through -N -H 'Content-Type: application/json' -d '{"prompt":"the of","max_tokens":5,"stream":true,"ignore_eos":true}' "$AT/v1/completions")" &&
		grep -q '^data: \[DONE\]' body &&
		same 413 "$(head -c 34000000 /dev/zero | through -H 'Content-Type: application/json' --data-binary @- "$AT/tokenize")" &&
		same 200 "$(through "$AT/version")"
	} || rc=1
	kill -TERM $FRONT
	wait $FRONT || :
	[ $rc = 0 ] || cat errors said
	[ $rc = 0 ]
}
