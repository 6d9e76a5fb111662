/* common/env.c - environment variables. No other file reads them. */
#include "common/env.h"
#include "common/file.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *variable, *option;
} variables[] = {
	{ "INFER_MODEL", "model" },
	{ "INFER_THREADS", "threads" },
	{ "INFER_ISA", "isa" },
	{ "INFER_SERVER", "server" },
};

int env_read(const struct opt *rows, void *into, struct arena *mem, infer_error *err)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i].variable);

		if (!value || !*value)
			continue;
		for (const struct opt *o = rows; o->kind != OPT_END; o++)
			if (o->kind != OPT_GROUP && o->name &&
			    !strcmp(o->name, variables[i].option))
				TRY(opt_value(o, into, value, variables[i].variable, mem, err));
	}
	return INFER_OK;
}

const char *env_name(const char *value)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		if (value && value == getenv(variables[i].variable))
			return variables[i].variable;
	return NULL;
}

/* Parse a number from 1 to 2^30. Returns 0 if the text is not such a number. */
static long parse_count(const char *value)
{
	char *end;
	long n = value && *value >= '0' && *value <= '9' ? strtol(value, &end, 10) : 0;

	return n > 0 && n <= 1 << 30 && !*end ? n : 0;
}

int env_listen_fds(void)
{
	return parse_count(getenv("LISTEN_PID")) == (long)getpid()
	               ? (int)parse_count(getenv("LISTEN_FDS"))
	               : 0;
}

static int is_set(const char *value) { return value && *value; }

unsigned env_terminal(int fd)
{
	const char *term = getenv("TERM");

	if (!isatty(fd) || !is_set(term) || !strcmp(term, "dumb"))
		return 0;
	return is_set(getenv("NO_COLOR")) ? ENV_ESCAPES : ENV_ESCAPES | ENV_COLOURS;
}

/* Create the missing directories of an absolute path with mode 0700. */
static int make_dirs(char *path, infer_error *err)
{
	for (char *p = path + 1;; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		*p = 0;
		int failed = mkdir(path, 0700) && errno != EEXIST;

		if (failed)
			err_errno(err, errno, "%s", path);
		*p = was;
		if (failed)
			return INFER_EIO;
		if (!was)
			return INFER_OK;
	}
}

/* Set *path to $variable/inferutils or ~/below/inferutils and create it. what: the use of the directory,
 * for messages. */
static int user_dir(struct buf *path, const char *variable, const char *below, const char *what,
                    infer_error *err)
{
	const char *given = getenv(variable), *home = getenv("HOME");

	buf_clear(path);
	/* a relative path must be ignored (XDG Base Directory Specification) */
	if (given && *given == '/')
		buf_printf(path, "%s/inferutils", given);
	else if (home && *home == '/')
		buf_printf(path, "%s/%s/inferutils", home, below);
	else
		return err_set(err, INFER_EIO, "no directory for %s: neither %s nor HOME names one",
		               what, variable);
	if (path->bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a path");
	return make_dirs(path->at, err);
}

int env_state_dir(struct buf *path, infer_error *err)
{
	return user_dir(path, "XDG_STATE_HOME", ".local/state", "state", err);
}

int env_cache_dir(struct buf *path, infer_error *err)
{
	return user_dir(path, "XDG_CACHE_HOME", ".cache", "caches", err);
}

/* ---- the hub ---- */

enum { MAX_TOKEN_BYTES = 4096 };

/* Return the value of a variable, or of its older name (NULL: none); NULL if neither is set. */
static const char *get_variable(const char *name, const char *older)
{
	const char *v = getenv(name);

	return is_set(v) || !older ? (is_set(v) ? v : NULL) : get_variable(older, NULL);
}

static int is_true(const char *v)
{
	static const char *const words[] = { "1", "on", "yes", "true" };

	for (size_t i = 0; v && i < sizeof words / sizeof *words; i++)
		if (!strcasecmp(v, words[i]))
			return 1;
	return 0;
}

/* Append a path with ~, $NAME and ${NAME} expanded. A variable that is not set stays as it is. */
static void put_expanded(struct buf *b, const char *s)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *home = getenv("HOME"), *value;
	char name[64];

	if (s[0] == '~' && (!s[1] || s[1] == '/') && is_set(home)) {
		buf_puts(b, home);
		s++;
	}
	for (; *s; s++) {
		int brace = s[0] == '$' && s[1] == '{';
		size_t n = s[0] == '$' ? strspn(s + 1 + brace, letters) : 0;

		value = NULL;
		if (n && n < sizeof name && (!brace || s[2 + n] == '}')) {
			memcpy(name, s + 1 + brace, n);
			name[n] = 0;
			value = getenv(name);
		}
		if (value) {
			buf_puts(b, value);
			s += n + 2 * (size_t)brace;
		} else {
			buf_putc(b, *s);
		}
	}
}

/* Return value with its variables expanded, or else dir/below, allocated in mem; NULL if both are NULL. */
static const char *hub_path(struct arena *mem, const char *value, const char *dir,
                            const char *below)
{
	const char *out = NULL;
	struct buf b;

	if (!value && !dir)
		return NULL;
	buf_init(&b, MEM_BASE);
	if (value)
		put_expanded(&b, value);
	else
		buf_printf(&b, "%s/%s", dir, below);
	if (!b.bad)
		out = arena_strndup(mem, b.at, b.len);
	mem->bad |= b.bad;
	buf_fini(&b);
	return out;
}

/* Copy an access token without the white space around it. INFER_EINVAL: it has characters other than
 * printable ASCII */
static int clean_token(const char **out, struct arena *mem, const char *s, const char *from,
                       infer_error *err)
{
	static const char space[] = " \t\r\n";
	size_t n;

	s += strspn(s, space);
	n = strcspn(s, space);
	if (s[n + strspn(s + n, space)])
		return err_set(err, INFER_EINVAL, "%.160s: must be one word, a token of the hub",
		               from);
	for (size_t i = 0; i < n; i++)
		if (s[i] < '!' || s[i] > '~')
			return err_set(err, INFER_EINVAL,
			               "%.160s: must be a token of the hub, in ASCII", from);
	*out = n ? arena_strndup(mem, s, n) : NULL;
	return INFER_OK;
}

static int read_token(struct infer_hub_opts *o, struct arena *mem, const char *path,
                      infer_error *err)
{
	const char *given = get_variable("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN");
	struct buf text;
	int rc;

	if (given)
		return clean_token(&o->token, mem, given, "HF_TOKEN", err);
	if (!path || access(path, F_OK) || is_true(getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")))
		return INFER_OK;
	buf_init(&text, MEM_BASE);
	rc = file_read(&text, path, MAX_TOKEN_BYTES, err);
	if (!rc && text.len)
		rc = clean_token(&o->token, mem, text.at, path, err);
	buf_fini(&text);
	return rc;
}

int env_hub(struct infer_hub_opts *o, struct arena *mem, infer_error *err)
{
	const char *home = get_variable("HOME", NULL), *xdg = get_variable("XDG_CACHE_HOME", NULL),
		   *hf;

	xdg = hub_path(mem, xdg, home, ".cache");
	hf = hub_path(mem, get_variable("HF_HOME", NULL), xdg, "huggingface");
	o->cache = hub_path(mem, get_variable("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"), hf, "hub");
	o->endpoint = get_variable("HF_ENDPOINT", NULL);
	o->offline = is_true(get_variable("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"));
	o->ca_file = get_variable("SSL_CERT_FILE", "CURL_CA_BUNDLE");
	o->ollama = get_variable("OLLAMA_MODELS", NULL);
	o->home = home;
	TRY(read_token(o, mem, hub_path(mem, get_variable("HF_TOKEN_PATH", NULL), hf, "token"),
	               err));
	return mem->bad ? err_set(err, INFER_ENOMEM, "out of memory for the environment")
	                : INFER_OK;
}
