/* tests/tools/mockhub.c - mockhub ROOT [CERT KEY]: a server that behaves like the Hugging Face hub.
 *
 *	ROOT/ORG/REPO/COMMIT/PATH  a file of a commit (40 hex digits)
 *	ROOT/ORG/REPO/REV          a revision: a text file with the commit
 *	ROOT/ORG/REPO/.gated       the repository is gated: only this token may read it
 *	ROOT/ORG/REPO/.private     the repository is private: only this token sees it
 *	ROOT/.log                  a line for each answer: STATUS METHOD hub|cdn TARGET | HEADER: VALUE ...
 *	ROOT/.modes                faults, read for each request: lines "PATTERN : KEY[=VALUE] ..."
 *
 * The pattern (fnmatch) matches "METHOD hub|cdn TARGET".  All lines that match apply; one with times=N only to
 * the first N requests that match it.
 *	status=N retry=TEXT ratelimit=TEXT code=TEXT  answer so, with Retry-After, RateLimit and X-Error-Code
 *	cut=N        end the connection after N bytes of the body
 *	stall=N      send N bytes of the body, then nothing
 *	slow=N       N bytes a second
 *	norange      ignore Range
 *	wrong=N      flip a bit of byte N of the file
 *	extra=N      N bytes more than Content-Range says
 *	expire=N     a signed URL is valid for N requests
 *	loop         redirect to the same address
 *	location=URL redirect there
 *	bomb=N       N headers of 1000 bytes
 *	json=FILE    answer with ROOT/FILE
 *	page=N       so many entries in a page of a tree
 *	direct       LFS files without a redirect
 *	etag=TEXT size=N commit=TEXT  instead of the true ones
 *
 * Files of at least 1 MiB, and those named *.gguf, *.safetensors and *.bin, are LFS files.  They are sent from a second
 * port, under another host name.  It prints its address, and runs until it is killed or its parent ends. */
#include "mockhub.h"
#include "mockhub_files.h"
#include "base/buf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 1000, POOL = 8 << 20 };

static char self[2][64]; /* scheme, host and port: of the hub, of the host of LFS files */
static int log_fd;

struct ask {
	struct MHD_Connection *c;
	struct MHD_Response *r;
	int is_cdn;
	const char *method, *target; /* as they were sent */
	char path[NAME_MOST];        /* without the query, %XX decoded */
	struct mode m;
	char repo[512], rev[128], commit[64], file[NAME_MOST]; /* what the path names */
};

static const char *field(const struct ask *a, const char *name)
{
	return MHD_lookup_connection_value(a->c, MHD_HEADER_KIND, name);
}

/* ---- answers ---- */

static enum MHD_Result log_field(void *user, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
	(void)kind;
	buf_printf(user, " | %s: %s", key, value ? value : "");
	return MHD_YES;
}

static void add_field(struct ask *a, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void add_field(struct ask *a, const char *name, const char *fmt, ...)
{
	char text[3 * NAME_MOST];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	MHD_add_response_header(a->r, name, text);
}

static enum MHD_Result finish(struct ask *a, unsigned status)
{
	struct buf line;
	char filler[1001];
	enum MHD_Result ok;

	buf_init(&line, MEM_BASE);
	buf_printf(&line, "%u %s %s %s", status, a->method, a->is_cdn ? "cdn" : "hub", a->target);
	MHD_get_connection_values(a->c, MHD_HEADER_KIND, log_field, &line);
	buf_putc(&line, '\n');
	if (write(log_fd, line.at, line.len) < 0)
		perror("mockhub: .log");
	buf_fini(&line);
	memset(filler, 'x', 1000);
	filler[1000] = 0;
	for (int64_t i = 0; i < a->m.bomb; i++)
		add_field(a, "X-Bomb", "%s", filler);
	ok = MHD_queue_response(a->c, status, a->r);
	MHD_destroy_response(a->r);
	return ok;
}

static void new_text(struct ask *a, const char *text, size_t n)
{
	a->r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result refuse(struct ask *a, unsigned status, const char *code, const char *text)
{
	new_text(a, text, strlen(text));
	if (*code)
		add_field(a, "X-Error-Code", "%s", code);
	if (*a->m.retry)
		add_field(a, "Retry-After", "%s", a->m.retry);
	if (*a->m.ratelimit)
		add_field(a, "RateLimit", "%s", a->m.ratelimit);
	add_field(a, "X-Error-Message", "%s", text);
	return finish(a, status);
}

static enum MHD_Result redirect(struct ask *a, unsigned status, const char *to)
{
	char text[] = "Found. Redirecting";

	if (!a->r)
		new_text(a, text, strlen(text));
	add_field(a, "Location", "%s", *a->m.location ? a->m.location : to);
	return finish(a, status);
}

/* ---- bodies ---- */

/* The first and last byte that the request names; 1: a range, 0: all of it, -1: none of the file. */
static int read_range(const struct ask *a, const char *etag, uint64_t bytes, uint64_t *from,
                      uint64_t *to)
{
	const char *range = field(a, "Range"), *if_range = field(a, "If-Range");
	char *end;

	*from = 0;
	*to = bytes;
	if (!range || strncmp(range, "bytes=", 6) || a->m.norange ||
	    (if_range && strcmp(if_range, etag)))
		return 0;
	*from = strtoull(range + 6, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*to = strtoull(end + 1, NULL, 10) + 1;
	if (*to > bytes)
		*to = bytes;
	return *from < *to ? 1 : -1;
}

/* Make the answer of a file: the status, or 0. */
static unsigned new_file(struct ask *a, const char *path, uint64_t bytes, const char *etag)
{
	uint64_t from, to;
	int kind = read_range(a, etag, bytes, &from, &to);
	struct body *b;

	if (kind < 0) {
		new_text(a, "", 0);
		add_field(a, "Content-Range", "bytes */%" PRIu64, bytes);
		return 416;
	}
	b = calloc(1, sizeof *b);
	*b = (struct body){ open(path, O_RDONLY | O_CLOEXEC), from, a->m };
	a->r = MHD_create_response_from_callback(to - from + (uint64_t)a->m.extra, 256 << 10,
	                                         body_read, b, body_free);
	if (kind)
		add_field(a, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from,
		          to - 1, bytes);
	if (!a->m.norange)
		add_field(a, "Accept-Ranges", "bytes");
	add_field(a, "ETag", "%s", etag);
	return kind ? 206 : 200;
}

/* ---- the repositories ---- */

/* True if the request has been refused: the repository or the revision is missing, or not for this
 * caller. */
static int is_refused(struct ask *a, int for_files, enum MHD_Result *answer)
{
	char path[2 * NAME_MOST], token[256], need[512];
	const char *sent = field(a, "Authorization");
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", root, a->repo);
	read_line(token, sizeof token, a->repo, ".private");
	snprintf(need, sizeof need, "Bearer %s", token);
	if (stat(path, &st) || !S_ISDIR(st.st_mode) || strstr(a->repo, "..") ||
	    (*token && (!sent || strcmp(sent, need)))) {
		*answer = refuse(a, sent ? 404 : 401, "RepoNotFound", "Repository not found");
		return 1;
	}
	read_line(token, sizeof token, a->repo, ".gated");
	snprintf(need, sizeof need, "Bearer %s", token);
	if (for_files && *token && (!sent || strcmp(sent, need))) {
		*answer = refuse(a, sent ? 403 : 401, "GatedRepo",
		                 "Access to this model is restricted");
		return 1;
	}
	snprintf(a->commit, sizeof a->commit, "%.40s", a->rev);
	if (strlen(a->rev) != 40 || strspn(a->rev, "0123456789abcdef") != 40)
		read_line(a->commit, sizeof a->commit, a->repo, a->rev);
	snprintf(path, sizeof path, "%s/%s/%s", root, a->repo, a->commit);
	if (strlen(a->commit) != 40 || strstr(a->rev, "..") || stat(path, &st)) {
		*answer = refuse(a, 404, "RevisionNotFound", "Invalid rev id");
		return 1;
	}
	return 0;
}

/* ---- the tree of a commit ---- */

static struct entries list_commit(const struct ask *a)
{
	char top[2 * NAME_MOST];
	struct entries e = { 0 };

	snprintf(top, sizeof top, "%s/%s/%s", root, a->repo, a->commit);
	list_folder(&e, top, "");
	qsort(e.at, e.n, sizeof *e.at, by_path);
	return e;
}

static void put_entry(struct buf *b, const struct ask *a, const struct entry *e)
{
	char path[3 * NAME_MOST];
	struct names n = { 0 };

	snprintf(path, sizeof path, "%s/%s/%s/%s", root, a->repo, a->commit, e->path);
	if (!e->is_dir && name_file(&n, path))
		return;
	buf_printf(b, "%s{\"type\":\"%s\",\"oid\":\"%s\",\"size\":%" PRIu64, b->len > 1 ? "," : "",
	           e->is_dir ? "directory" : "file",
	           e->is_dir ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904" : n.git, n.bytes);
	if (n.is_lfs)
		buf_printf(b, ",\"lfs\":{\"oid\":\"%s\",\"size\":%" PRIu64 ",\"pointerSize\":134}",
		           n.sha256, n.bytes);
	buf_puts(b, ",\"path\":");
	put_json(b, e->path);
	buf_putc(b, '}');
}

static enum MHD_Result send_tree(struct ask *a)
{
	const char *cursor = MHD_lookup_connection_value(a->c, MHD_GET_ARGUMENT_KIND, "cursor");
	size_t page = a->m.page ? (size_t)a->m.page : PAGE,
	       from = cursor ? strtoul(cursor, 0, 10) : 0;
	struct entries e = list_commit(a);
	struct buf b;

	buf_init(&b, MEM_BASE);
	buf_putc(&b, '[');
	for (size_t i = from; i < e.n && i < from + page; i++)
		put_entry(&b, a, &e.at[i]);
	buf_putc(&b, ']');
	new_text(a, b.at, b.len);
	add_field(a, "Content-Type", "application/json; charset=utf-8");
	if (from + page < e.n)
		add_field(a, "Link",
		          "<%s/api/models/%s/tree/%s?recursive=true&cursor=%zu>; rel=\"next\"",
		          self[0], a->repo, a->rev, from + page);
	buf_fini(&b);
	free_entries(&e);
	return finish(a, 200);
}

static enum MHD_Result send_model(struct ask *a)
{
	struct entries e = list_commit(a);
	char gated[256];
	int first = 1;
	struct buf b;

	read_line(gated, sizeof gated, a->repo, ".gated");
	buf_init(&b, MEM_BASE);
	buf_puts(&b, "{\"_id\":\"0\",\"id\":");
	put_json(&b, a->repo);
	buf_puts(&b, ",\"modelId\":");
	put_json(&b, a->repo);
	buf_printf(&b,
	           ",\"sha\":\"%s\",\"private\":false,\"disabled\":false,\"gated\":%s,"
	           "\"tags\":[],\"downloads\":1,\"likes\":1,\"siblings\":[",
	           a->commit, *gated ? "\"manual\"" : "false");
	for (size_t i = 0; i < e.n; i++) {
		if (e.at[i].is_dir)
			continue;
		buf_puts(&b, first ? "{\"rfilename\":" : ",{\"rfilename\":");
		put_json(&b, e.at[i].path);
		buf_putc(&b, '}');
		first = 0;
	}
	buf_puts(&b, "]}");
	new_text(a, b.at, b.len);
	add_field(a, "Content-Type", "application/json; charset=utf-8");
	buf_fini(&b);
	free_entries(&e);
	return finish(a, 200);
}

/* ---- files ---- */

/* Number of a new signature, or count a use of one. */
static int64_t sign(int64_t signature)
{
	enum { SIGNATURES = 1 << 16 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int64_t next, used[SIGNATURES];
	int64_t n;

	pthread_mutex_lock(&lock);
	n = signature < 0 ? next++ : ++used[signature % SIGNATURES];
	pthread_mutex_unlock(&lock);
	return n;
}

static void add_linked(struct ask *a, const struct names *n)
{
	add_field(a, "X-Repo-Commit", "%s", *a->m.commit ? a->m.commit : a->commit);
	add_field(a, "X-Linked-Size", "%" PRIu64, a->m.size >= 0 ? (uint64_t)a->m.size : n->bytes);
	add_field(a, "X-Linked-ETag", "\"%s\"",
	          *a->m.etag  ? a->m.etag
	          : n->is_lfs ? n->sha256
	                      : n->git);
}

/* to_plain: the second address of a file that is not LFS */
static enum MHD_Result send_resolved(struct ask *a, int to_plain)
{
	char path[3 * NAME_MOST], etag[80];
	struct names n;
	struct buf to;
	unsigned status;
	enum MHD_Result ok;

	snprintf(path, sizeof path, "%s/%s/%s/%s", root, a->repo, a->commit, a->file);
	if (strstr(a->file, "..") || name_file(&n, path)) {
		new_text(a, "Entry not found", 15);
		add_field(a, "X-Error-Code", "EntryNotFound");
		add_field(a, "X-Repo-Commit", "%s", a->commit);
		return finish(a, 404);
	}
	if (to_plain || (n.is_lfs && a->m.direct)) {
		snprintf(etag, sizeof etag, "\"%s\"", n.is_lfs ? n.sha256 : n.git);
		status = new_file(a, path, n.bytes, *a->m.etag ? a->m.etag : etag);
		add_field(a, "X-Repo-Commit", "%s", *a->m.commit ? a->m.commit : a->commit);
		return finish(a, status);
	}
	buf_init(&to, MEM_BASE);
	buf_printf(&to, "%s%s/%s/%s/", n.is_lfs ? self[1] : "",
	           n.is_lfs ? "/lfs" : "/api/resolve-cache/models", a->repo, a->commit);
	quote(&to, a->file);
	if (n.is_lfs)
		buf_printf(&to, "?Expires=1&Signature=%" PRId64, sign(-1));
	new_text(a, "Redirecting", 11);
	add_linked(a, &n);
	add_field(a, "ETag", "\"%.32s\"", n.git); /* of this answer's text */
	ok = redirect(a, n.is_lfs ? 302 : 307, to.at);
	buf_fini(&to);
	return ok;
}

static enum MHD_Result send_lfs(struct ask *a)
{
	const char *s = MHD_lookup_connection_value(a->c, MHD_GET_ARGUMENT_KIND, "Signature");
	char path[2 * NAME_MOST], etag[40];
	struct names n;
	unsigned status;

	if (!s || (a->m.expire && sign(atoll(s)) > a->m.expire))
		return refuse(a, 403, "", "<Error><Code>AccessDenied</Code></Error>");
	snprintf(path, sizeof path, "%s/%s", root, a->path + strlen("/lfs/"));
	if (strstr(path, "/..") || name_file(&n, path))
		return refuse(a, 404, "", "<Error><Code>NoSuchKey</Code></Error>");
	snprintf(etag, sizeof etag, "\"%.32s\"", n.sha256 + 32);
	status = new_file(a, path, n.bytes, *a->m.etag ? a->m.etag : etag);
	return finish(a, status);
}

static enum MHD_Result send_own(struct ask *a, const char *name)
{
	char path[2 * NAME_MOST], etag[] = "\"own\"";
	struct names n;
	unsigned status;

	snprintf(path, sizeof path, "%s/%s", root, name);
	if (name_file(&n, path))
		return refuse(a, 500, "", "no such file for json=");
	status = new_file(a, path, n.bytes, etag);
	return finish(a, status);
}

/* Split "ORG/REPO/WORD/REV[/FILE]" at its words; false: it has another form. */
static int split_path(struct ask *a, const char *p, const char *word)
{
	char mark[32];
	const char *w, *rev, *end;

	snprintf(mark, sizeof mark, *word ? "/%s/" : "/", word);
	w = *word ? strstr(p, mark) : strchr(strchr(p, '/') ? strchr(p, '/') + 1 : p, '/');
	if (!w)
		return 0;
	rev = w + strlen(mark);
	end = strchrnul(rev, '/');
	snprintf(a->repo, sizeof a->repo, "%.*s", (int)(w - p), p);
	snprintf(a->rev, sizeof a->rev, "%.*s", (int)(end - rev), rev);
	snprintf(a->file, sizeof a->file, "%s", *end ? end + 1 : "");
	return 1;
}

static enum MHD_Result answer(struct ask *a)
{
	static const char api[] = "/api/models/", plain[] = "/api/resolve-cache/models/";
	const char *p = a->path;
	enum MHD_Result refused;

	if (a->m.status)
		return refuse(a, (unsigned)a->m.status, a->m.code, "as .modes says");
	if (a->m.loop)
		return redirect(a, 302, a->target);
	if (*a->m.json)
		return send_own(a, a->m.json);
	if (a->is_cdn)
		return strncmp(p, "/lfs/", 5) ? refuse(a, 404, "", "") : send_lfs(a);
	if (!strncmp(p, plain, strlen(plain)) && split_path(a, p + strlen(plain), ""))
		return is_refused(a, 1, &refused) ? refused : send_resolved(a, 1);
	if (!strncmp(p, api, strlen(api))) {
		p += strlen(api);
		if (split_path(a, p, "tree"))
			return is_refused(a, 0, &refused) ? refused : send_tree(a);
		if (!split_path(a, p, "revision")) {
			snprintf(a->repo, sizeof a->repo, "%s", p);
			snprintf(a->rev, sizeof a->rev, "main");
		}
		return is_refused(a, 0, &refused) ? refused : send_model(a);
	}
	if (split_path(a, p + 1, "resolve"))
		return is_refused(a, 1, &refused) ? refused : send_resolved(a, 0);
	return refuse(a, 404, "", "Not Found");
}

/* ---- the server ---- */

/* A request, until it is completed.  Answered at its second call: an answer at the first would end
 * the connection. */
struct request {
	char *target;
	int calls;
};

static void *on_target(void *user, const char *target, struct MHD_Connection *c)
{
	struct request *r = calloc(1, sizeof *r);

	(void)user;
	(void)c;
	r->target = strdup(target);
	return r;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *bytes, void **context)
{
	struct request *r = *context;
	struct ask *a;
	char request[2 * NAME_MOST];
	enum MHD_Result ok;

	(void)version;
	(void)upload;
	*bytes = 0;
	if (!r->calls++)
		return MHD_YES;
	a = calloc(1, sizeof *a);
	a->c = c;
	a->is_cdn = user != NULL;
	a->method = method;
	a->target = r->target;
	snprintf(a->path, sizeof a->path, "%s", url);
	snprintf(request, sizeof request, "%s %s %s", method, a->is_cdn ? "cdn" : "hub", a->target);
	mode_read(&a->m, root, request);
	ok = answer(a);
	free(a);
	return ok;
}

static void on_completed(void *user, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode code)
{
	struct request *r = *context;

	(void)user;
	(void)c;
	(void)code;
	if (r)
		free(r->target);
	free(r);
}

static void start(int is_cdn, char *cert, char *key)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, key },
		{ MHD_OPTION_END, 0, NULL },
	};
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
	                 MHD_USE_POLL | (cert ? MHD_USE_TLS : 0);
	struct MHD_Daemon *d = MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, is_cdn ? self : NULL, MHD_OPTION_URI_LOG_CALLBACK,
		on_target, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL, MHD_OPTION_SOCK_ADDR, &at,
		MHD_OPTION_ARRAY, cert ? tls : tls + 2, MHD_OPTION_END);
	const union MHD_DaemonInfo *i =
		d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;

	if (!i) {
		fprintf(stderr, "mockhub: no server\n");
		exit(1);
	}
	snprintf(self[is_cdn], sizeof self[is_cdn], "%s://%s:%u", cert ? "https" : "http",
	         is_cdn ? "localhost" : "127.0.0.1", (unsigned)i->port);
}

static char *read_whole(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 1 << 16);

	if (!f || !fread(text, 1, (1 << 16) - 1, f)) {
		fprintf(stderr, "mockhub: %s: not read\n", path);
		exit(1);
	}
	fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	char path[NAME_MOST], *cert = NULL, *key = NULL;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: mockhub ROOT [CERT KEY]\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	root = argv[1];
	snprintf(path, sizeof path, "%s/.log", root);
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (argc == 4) {
		cert = read_whole(argv[2]);
		key = read_whole(argv[3]);
	}
	start(1, cert, key);
	start(0, cert, key);
	printf("%s\n", self[0]);
	fflush(stdout);
	for (;;)
		pause();
}
