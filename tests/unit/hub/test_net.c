/* tests/unit/hub/test_net.c - requests to a server that behaves like the hub: results, failures, and
 * the hosts that get the token. */
#include "../left_out.h"
#include "base/err.h"
#include "mock.h"
#include "hub/net_inner.h"

#include <stdlib.h>
#include <time.h>

static const char api[] = "/api/models/org/tiny/revision/main";
static const char config[] = "/org/tiny/resolve/main/config.json";

static int case_get(void)
{
	struct infer_hub_opts o = { .endpoint = NULL };
	struct hub_file_info i = { .url = NULL };
	struct hub_net *n = NULL;
	struct buf body;
	infer_error err;
	int rc, found;

	buf_init(&body, MEM_HUB);
	nth_ok(mock_open(&n, &o, &err));
	nth_ok(hub_net_get(n, api, 1 << 20, &body, &err));
	assert_non_null(strstr(body.at, "\"sha\":\"" MOCK_COMMIT "\""));
	assert_null(hub_net_next(n));
	assert_int_equal(hub_net_why(n), HUB_WHY_NONE);
	nth_ok(hub_net_head(n, config, &i, &found, &err));
	assert_int_equal(found, 1);
	assert_int_equal(i.bytes, 9);
	assert_int_equal(i.is_lfs, 0);
	assert_string_equal(i.commit, MOCK_COMMIT);
	assert_string_equal(i.etag, "cb5b2f69babc53f9145b45ad20b9a075d48717ef");
	assert_non_null(strstr(i.url, "/api/resolve-cache/models/org/tiny/"));
	hub_file_info_fini(&i);
	nth_ok(hub_net_head(n, "/org/tiny/resolve/main/none", &i, &found, &err));
	assert_int_equal(found, 0);
	assert_int_equal(hub_net_why(n), HUB_WHY_NONE);
out:
	hub_file_info_fini(&i);
	hub_net_close(n);
	buf_fini(&body);
	return rc;
}

/* One request, and its result. */
static int get(const char *path, const char *token, enum hub_why *why, infer_error *err)
{
	struct infer_hub_opts o = { .token = token };
	struct hub_net *n;
	struct buf body;

	buf_init(&body, MEM_HUB);
	int rc = mock_open(&n, &o, err);

	if (!rc)
		rc = hub_net_get(n, path, 1 << 20, &body, err);
	*why = hub_net_why(n);
	hub_net_close(n);
	buf_fini(&body);
	return rc;
}

static int head(struct hub_file_info *i, const char *path, const char *token, enum hub_why *why,
                infer_error *err)
{
	struct infer_hub_opts o = { .token = token };
	struct hub_net *n;
	int found, rc = mock_open(&n, &o, err);

	if (!rc)
		rc = hub_net_head(n, path, i, &found, err);
	*why = hub_net_why(n);
	hub_net_close(n);
	return rc;
}

static void test_lfs(void **state)
{
	struct hub_file_info i;
	enum hub_why why;
	infer_error err;

	(void)state;
	mock_text("org/tiny/" MOCK_COMMIT "/a b#%.gguf", "abc");
	mock_modes("");
	assert_int_equal(head(&i, "/org/tiny/resolve/main/a%20b%23%25.gguf", NULL, &why, &err), 0);
	assert_int_equal(i.is_lfs, 1);
	assert_int_equal(i.bytes, 3);
	assert_string_equal(i.etag,
	                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_memory_equal(i.url, "http://localhost:", 17);
	assert_non_null(strstr(i.url, "/a%20b%23%25.gguf?"));
	hub_file_info_fini(&i);
	/* the other host was not asked */
	assert_int_equal(mock_count(" cdn ", ""), 0);
	assert_int_equal(mock_count("HEAD hub", ""), 1);
}

static void test_pages(void **state)
{
	struct infer_hub_opts o = { .token = NULL };
	char name[128], path[256] = "/api/models/org/many/tree/main?recursive=true";
	struct hub_net *n;
	struct buf body;
	infer_error err;
	int pages = 0, files = 0;

	(void)state;
	mock_text("org/many/main", MOCK_COMMIT);
	for (int i = 0; i < 25; i++) {
		snprintf(name, sizeof name, "org/many/" MOCK_COMMIT "/f%d", i);
		mock_text(name, "x");
	}
	mock_modes("GET hub * : page=10\n");
	buf_init(&body, MEM_HUB);
	assert_int_equal(mock_open(&n, &o, &err), 0);
	for (const char *next = path; next; next = hub_net_next(n), pages++) {
		if (next != path)
			snprintf(path, sizeof path, "%s", next);
		assert_int_equal(hub_net_get(n, path, 1 << 20, &body, &err), 0);
	}
	for (const char *at = body.at; (at = strstr(at, "\"path\"")); at++)
		files++;
	assert_int_equal(pages, 3);
	assert_int_equal(files, 25);
	hub_net_close(n);
	buf_fini(&body);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *path, *token, *message;
		enum hub_why why;
	} rows[] = {
		{ "/api/models/org/none/revision/main", NULL,
		  "no repository org/none, or it is private "
		  "and needs HF_TOKEN",
		  HUB_WHY_NO_REPO },
		{ "/api/models/org/none/revision/main", "t", "this token has no access",
		  HUB_WHY_NO_REPO },
		{ "/api/models/org/tiny/revision/v9", NULL, "org/tiny has no revision v9",
		  HUB_WHY_NO_REVISION },
		{ "/org/tiny/resolve/main/none", NULL, "org/tiny has no such file",
		  HUB_WHY_NO_ENTRY },
		{ "/org/gated/resolve/main/f", NULL,
		  "it is gated: accept its licence at http:", HUB_WHY_GATED },
		{ "/org/gated/resolve/main/f", "wrong",
		  "it is gated, and this token has no access: accept its licence", HUB_WHY_GATED },
		{ "/org/private/resolve/main/f", "wrong", "no repository org/private",
		  HUB_WHY_NO_REPO },
		{ "/nothing", NULL, "has no nothing", HUB_WHY_NO_REPO },
	};
	enum hub_why why;
	infer_error err;

	(void)state;
	mock_text("org/gated/main", MOCK_COMMIT);
	mock_text("org/gated/" MOCK_COMMIT "/f", "x");
	mock_text("org/gated/.gated", "right");
	mock_text("org/private/main", MOCK_COMMIT);
	mock_text("org/private/" MOCK_COMMIT "/f", "x");
	mock_text("org/private/.private", "right");
	mock_modes("");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(get(rows[i].path, rows[i].token, &why, &err), INFER_ENET);
		if (!strstr(err.message, rows[i].message))
			fail_msg("row %zu: %s", i, err.message);
		assert_int_equal(why, rows[i].why);
	}
	assert_int_equal(get("/org/gated/resolve/main/f", "right", &why, &err), 0);
	assert_int_equal(get("/org/private/resolve/main/f", "right", &why, &err), 0);
	mock_modes("GET hub * : status=403\n");
	assert_int_equal(get(api, NULL, &why, &err), INFER_ENET);
	assert_int_equal(why, HUB_WHY_DENIED);
	assert_non_null(
		strstr(err.message, "org/tiny: the hub refuses (status 403): set HF_TOKEN"));
	/* the message never has the token */
	assert_int_equal(get(api, "secret-token", &why, &err), INFER_ENET);
	assert_null(strstr(err.message, "secret-token"));
}

/* The token is sent to the endpoint's scheme, host and port, and to no other. */
static void test_token(void **state)
{
	struct hub_file_info i;
	char modes[512], cdn[64];
	enum hub_why why;
	infer_error err;

	(void)state;
	mock_modes("");
	assert_int_equal(head(&i, "/org/tiny/resolve/main/a%20b%23%25.gguf", "secret", &why, &err),
	                 0);
	snprintf(cdn, sizeof cdn, "%.*s", (int)strcspn(i.url + 7, "/") + 7, i.url);
	hub_file_info_fini(&i);
	assert_int_equal(mock_count(" hub ", "Authorization: Bearer secret"), 1);
	/* a request follows a redirect to the other host, and to the same address with the other port */
	for (int port = 0; port < 2; port++) {
		snprintf(modes, sizeof modes, "GET hub /away : loop location=http://%s%s/lfs/x\n",
		         port ? "127.0.0.1" : "localhost", strrchr(cdn, ':'));
		mock_modes(modes);
		assert_int_equal(get("/away", "secret", &why, &err), INFER_ENET);
		assert_int_equal(mock_count(" hub ", "secret"), 1);
		assert_int_equal(mock_count(" cdn ", ""), 1);
		assert_int_equal(mock_count(" cdn ", "secret"), 0);
	}
	/* to itself it keeps the token */
	mock_modes("GET hub /away : loop location=/api/models/org/tiny\n");
	assert_int_equal(get("/away", "secret", &why, &err), 0);
	assert_int_equal(mock_count(" hub ", "secret"), 2);
	/* nor is it sent to a proxy that could read it; without a token the proxy is used */
	setenv("http_proxy", cdn, 1);
	mock_modes("");
	assert_int_equal(get(api, "secret", &why, &err), 0);
	assert_int_equal(mock_count(" cdn ", ""), 0);
	assert_int_equal(get(api, NULL, &why, &err), INFER_ENET);
	assert_int_equal(mock_count(" cdn ", ""), 1);
	unsetenv("http_proxy");
	/* a proxy is asked for a tunnel, without the token */
	setenv("https_proxy", cdn, 1);
	mock_modes("");
	struct infer_hub_opts o = { .endpoint = "https://127.0.0.1:1", .token = "secret" };
	struct hub_net *n;
	struct buf body;

	buf_init(&body, MEM_HUB);
	assert_int_equal(hub_net_open(&n, &o, &err), 0);
	hub_net_limits(n)->backoff_ns = 1;
	assert_int_equal(hub_net_get(n, api, 1 << 20, &body, &err), INFER_ENET);
	hub_net_close(n);
	assert_true(mock_count("CONNECT cdn", "") > 0);
	assert_int_equal(mock_count("", "secret"), 0);
	unsetenv("https_proxy");
}

static void test_redirects(void **state)
{
	static const struct {
		const char *modes, *message;
	} rows[] = {
		{ "* : loop\n", "more than 10 redirects" },
		{ "* : loop location=ftp://127.0.0.1/x\n", "ftp://127.0.0.1/x is not http(s)://" },
		{ "* : loop location=file:///etc/passwd\n",
		  "file:///etc/passwd is not http(s)://" },
		{ "* : loop location=http://user:pw@127.0.0.1/\n", "is not http(s)://HOST" },
		{ "* : loop location=http://127.0.0.1:99999/\n", "is not http(s)://HOST" },
		{ "* : bomb=70\n", "more than 64 KiB of headers" },
		{ "* : loop bomb=10\n", "more than 64 KiB of headers" },
	};
	enum hub_why why;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		mock_modes(rows[i].modes);
		assert_int_equal(get("/x", NULL, &why, &err), INFER_ENET);
		if (!strstr(err.message, rows[i].message))
			fail_msg("row %zu: %s", i, err.message);
		assert_true(mock_count("", "") <= 11);
	}
	mock_modes("");
}

static void count_sentences(void *user, const char *sentence)
{
	assert_non_null(strstr(sentence, "the hub asks to wait"));
	++*(int *)user;
}

/* Failures that pass, and those that do not. */
static void test_attempts(void **state)
{
	int said = 0, rc;
	struct infer_hub_opts o = { .say = count_sentences, .user = &said };
	char modes[256], date[64];
	time_t soon = time(NULL) + 2;
	struct hub_net *n;
	struct buf body;
	enum hub_why why;
	infer_error err;

	(void)state;
	mock_modes("* : status=503 times=4\n");
	assert_int_equal(get(api, NULL, &why, &err), 0);
	assert_int_equal(mock_count("503", ""), 4);
	mock_modes("* : status=500\n");
	assert_int_equal(get(api, NULL, &why, &err), INFER_ENET);
	assert_non_null(strstr(err.message, "status 500"));
	assert_int_equal(mock_count("500", ""), 5);
	mock_modes("* : status=429 retry=301\n");
	assert_int_equal(get(api, NULL, &why, &err), INFER_ENET);
	assert_non_null(strstr(err.message, "asks to wait 301 s"));
	assert_int_equal(mock_count("429", ""), 1);
	mock_modes("* : status=429 ratelimit=\"api\";r=0;t=400\n");
	assert_int_equal(get(api, NULL, &why, &err), INFER_ENET);
	assert_non_null(strstr(err.message, "asks to wait 401 s"));
	/* the sentence is said once; Retry-After may be a date, also one that is past */
	strftime(date, sizeof date, "%a,_%d_%b_%Y_%H:%M:%S_GMT", gmtime(&soon));
	snprintf(modes, sizeof modes,
	         "* : status=429 retry=1 times=1\n* : status=429 retry=%s times=3\n", date);
	mock_modes(modes);
	buf_init(&body, MEM_HUB);
	assert_int_equal(mock_open(&n, &o, &err), 0);
	rc = hub_net_get(n, api, 1 << 20, &body, &err);
	assert_int_equal(rc, 0);
	assert_int_equal(said, 1);
	assert_true(time(NULL) >= soon);
	/* an answer that ends early is not put before the whole one */
	buf_clear(&body);
	buf_puts(&body, "before ");
	mock_text("x.json", "[\"an answer of the hub\"]");
	mock_modes("GET hub * : json=x.json\nGET hub * : cut=9 times=2\n");
	assert_int_equal(hub_net_get(n, api, 1 << 20, &body, &err), 0);
	assert_string_equal(body.at, "before [\"an answer of the hub\"]");
	/* an answer that is too long */
	mock_modes("");
	assert_int_equal(hub_net_get(n, api, 20, &body, &err), INFER_EFORMAT);
	hub_net_close(n);
	buf_fini(&body);
}

static void test_offline(void **state)
{
	/* nobody listens; a name without an address, since a part of it has more than 63 characters */
	static const char *const none[] = { "http://127.0.0.1:1",
		                            "https://an-address-is-not-asked-for-because-no-"
		                            "server-has-a-name-as-long-as-this-one.invalid" };
	struct infer_hub_opts o = { 0 };
	struct hub_net *n;
	struct buf body;
	infer_error err;

	(void)state;
	buf_init(&body, MEM_HUB);
	for (int i = 0; i < 2; i++) {
		o.endpoint = none[i];
		assert_int_equal(hub_net_open(&n, &o, &err), 0);
		hub_net_limits(n)->backoff_ns = 1;
		assert_int_equal(hub_net_get(n, api, 1 << 20, &body, &err), INFER_ENET);
		assert_int_equal(hub_net_why(n), HUB_WHY_OFFLINE);
		hub_net_close(n);
	}
	for (int i = 0; i < 5; i++) {
		o.endpoint = (const char *[]){ "ftp://x", "localhost", "http://", "http://a b/",
			                       "http://x/?q" }[i];
		assert_int_equal(hub_net_open(&n, &o, &err), INFER_EINVAL);
		hub_net_close(n);
	}
	buf_fini(&body);
}

/* Certificates are checked; a redirect from https to http is not followed. */
static void test_tls(void **state)
{
	char command[1024], ca[128], modes[256], plain[64];
	struct infer_hub_opts o = { .token = NULL };
	struct hub_net *n;
	struct buf body;
	infer_error err;

	(void)state;
	snprintf(plain, sizeof plain, "%s", mock_url);
	snprintf(ca, sizeof ca, "%s/cert.pem", mock_dir);
	snprintf(command, sizeof command,
	         "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "
	         "%s/key.pem -out %s -days 2 -subj /CN=localhost -addext "
	         "subjectAltName=IP:127.0.0.1,DNS:localhost 2>%s/why",
	         mock_dir, ca, mock_dir);
	if (system("command -v openssl >/dev/null") || system(command))
		left_out("needs openssl (package openssl)");
	mock_start("cert.pem", "key.pem");
	mock_modes("");
	buf_init(&body, MEM_HUB);
	assert_int_equal(mock_open(&n, &o, &err), 0);
	assert_int_equal(hub_net_get(n, api, 1 << 20, &body, &err), INFER_ENET);
	assert_non_null(strstr(err.message, "the certificate of 127.0.0.1 is not trusted"));
	hub_net_close(n);
	o.ca_file = ca;
	assert_int_equal(mock_open(&n, &o, &err), 0);
	assert_int_equal(hub_net_get(n, api, 1 << 20, &body, &err), 0);
	snprintf(modes, sizeof modes, "* : loop location=%s/x\n", plain);
	mock_modes(modes);
	assert_int_equal(hub_net_get(n, api, 1 << 20, &body, &err), INFER_ENET);
	assert_non_null(strstr(err.message, "redirected from https to http"));
	hub_net_close(n);
	/* a certificate for another name */
	o.endpoint = mock_url;
	char *at = strstr(mock_url, "127.0.0.1");

	memcpy(at, "127.0.0.2", 9);
	assert_int_equal(hub_net_open(&n, &o, &err), 0);
	assert_int_equal(hub_net_get(n, api, 1 << 20, &body, &err), INFER_ENET);
	hub_net_close(n);
	buf_fini(&body);
	mock_start(NULL, NULL);
}

static void test_join(void **state)
{
	static const char *const rows[][3] = {
		{ "http://h:1/a/b?q", "c", "http://h:1/a/c" },
		{ "http://h:1/a/b?q", "/c#x", "http://h:1/c" },
		{ "http://h:1/a/b?q", "?r", "http://h:1/a/b?r" },
		{ "http://h:1", "c", "http://h:1/c" },
		{ "https://h/x", "//g/y", "https://g/y" },
		{ "https://h/x", "http://g/y z", "http://g/y%20z" },
		{ "https://h/x", "mailto:y", "mailto:y" },
	};
	struct hub_origin a, b;
	struct buf out;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_init(&out, MEM_HUB);
		hub_url_join(&out, rows[i][0], rows[i][1]);
		assert_string_equal(out.at, rows[i][2]);
		buf_fini(&out);
	}
	assert_int_equal(hub_origin_of(&a, "HTTPS://Hub.example/x", NULL), 0);
	assert_int_equal(hub_origin_of(&b, "https://hub.example:443", NULL), 0);
	assert_true(hub_origin_same(&a, &b));
	assert_int_equal(hub_origin_of(&b, "http://hub.example:443", NULL), 0);
	assert_false(hub_origin_same(&a, &b));
	assert_int_equal(hub_origin_of(&b, "https://hub.example.evil", NULL), 0);
	assert_false(hub_origin_same(&a, &b));
	assert_int_equal(hub_origin_of(&b, "https://hub.example@evil/", NULL), INFER_ENET);
	assert_int_equal(hub_origin_of(&b, "https://[::1]:80/", NULL), 0);
	assert_string_equal(b.host, "[::1]");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join),      nth_case(case_get),
		cmocka_unit_test(test_lfs),       cmocka_unit_test(test_pages),
		cmocka_unit_test(test_refusals),  cmocka_unit_test(test_token),
		cmocka_unit_test(test_redirects), cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_offline),   cmocka_unit_test(test_tls),
	};

	(void)argc;
	mock_init(argv[0]);
	return nth_group(tests);
}
