/* tests/fault/powercut.c - the power fails after each thing that a batch does to its file, and the
 * batch is resumed; and after each thing that a measurement does to the file that keeps its
 * records, and it is measured again.
 *
 *	powercut       B: the build (build/release); LONG=1: more ways of losing what was not
 *	               synced, for measurements above all; speaks TAP
 *
 * fault.so writes down what is written, cut, synced, made and renamed.  From that the disk is made
 * as it may be found after a stop behind the first k of these: what was synced is there; what was
 * not is there, is not, is there in part, is pages of zeros, or is there while what was written
 * before is not; a name that its directory was not synced after may be gone.  Then the same
 * command must end as if nothing had been: every record once, none of them half, and the lines
 * that had been synced are those that were.  A measurement has other numbers each time, so of it
 * the same is asked of lines: those that were synced, others only whole, and behind them those of
 * one run. */
#include "fault.h"
#include "outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_OPS = 400, MOST_FILES = 8, SECTOR = 512, MOST_BYTES = 1 << 16, BUFFER = 1 << 20 };

struct op {
	char what;
	unsigned long long inode;
	long long at;
	size_t n;
	const char *data;
	char name[64];
};
/* What became of writes that were not synced. */
enum lost { ALL_LOST, NONE_LOST, LAST_TORN, ONLY_LAST, ZEROS, SECTORS, WAYS };
static const char *const lost_names[WAYS] = { "lost",          "kept",
	                                      "the last torn", "all but the last zeros",
	                                      "zeros",         "some sectors" };

struct file {
	unsigned long long inode;
	struct outcome_text now, synced;
	size_t since;
};
struct name {
	char name[64];
	unsigned long long inode;
};
struct disk {
	struct file files[MOST_FILES];
	int n_files;
	struct name now[MOST_FILES], synced[MOST_FILES];
	int n_now, n_synced;
	/* all that the program was ever told to be on the disk under the name of the records */
	struct outcome_text told;
};

static char bin[4096], dir[] = "/tmp/powercut.XXXXXX";
static struct op ops[MOST_OPS];
static int n_ops;
static unsigned cases, bad_cases;
static unsigned long long dice = 1;

static unsigned roll(unsigned below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(dice >> 33) % below;
}

/* ---- the disk */

static struct file *file_of(struct disk *d, unsigned long long inode)
{
	for (int i = 0; i < d->n_files; i++)
		if (d->files[i].inode == inode)
			return &d->files[i];
	if (d->n_files == MOST_FILES)
		outcome_die("too many files");
	d->files[d->n_files] = (struct file){
		inode, { calloc(1, MOST_BYTES), 0 }, { calloc(1, MOST_BYTES), 0 }, 0
	};
	return &d->files[d->n_files++];
}

static void disk_fini(struct disk *d)
{
	for (int i = 0; i < d->n_files; i++) {
		free(d->files[i].now.at);
		free(d->files[i].synced.at);
	}
	free(d->told.at);
}

static struct file *records_of(struct disk *d)
{
	for (int i = 0; i < d->n_now; i++)
		if (!strcmp(d->now[i].name, "out.jsonl"))
			return file_of(d, d->now[i].inode);
	return NULL;
}

/* What was synced stays told, whatever takes the file's place. */
static void tell(struct disk *d, const struct file *f)
{
	if (f != records_of(d))
		return;
	if (d->told.n + f->synced.n > BUFFER)
		outcome_die("too many bytes");
	memcpy(d->told.at + d->told.n, f->synced.at, f->synced.n);
	d->told.n += f->synced.n;
}

/* A name points to an inode, and no other does. */
static void set_name(struct disk *d, const char *name, unsigned long long inode)
{
	int n = 0;

	for (int i = 0; i < d->n_now; i++)
		if (d->now[i].inode != inode && strcmp(d->now[i].name, name))
			d->now[n++] = d->now[i];
	snprintf(d->now[n].name, sizeof d->now[n].name, "%s", name);
	d->now[n].inode = inode;
	d->n_now = n + 1;
}

static void write_to(struct outcome_text *t, const struct op *o, size_t from, size_t to, int zeros)
{
	if ((size_t)o->at + o->n > MOST_BYTES)
		outcome_die("too many bytes");
	if ((size_t)o->at + to > t->n)
		t->n = (size_t)o->at + to;
	if (zeros)
		memset(t->at + o->at + from, 0, to - from);
	else
		memcpy(t->at + o->at + from, o->data + from, to - from);
}

static void apply(struct disk *d, int k)
{
	const struct op *o = &ops[k];
	struct file *f = o->what == 'S' && *o->name == '/' ? NULL : file_of(d, o->inode);

	switch (o->what) {
	case 'W':
		write_to(&f->now, o, 0, o->n, 0);
		break;
	case 'T':
		if ((size_t)o->at < f->now.n)
			memset(f->now.at + o->at, 0, f->now.n - (size_t)o->at);
		f->now.n = (size_t)o->at;
		break;
	case 'C':
	case 'R':
		set_name(d, o->name, o->inode);
		break;
	default:
		if (!f) {
			memcpy(d->synced, d->now, sizeof d->now);
			d->n_synced = d->n_now;
			break;
		}
		memcpy(f->synced.at, f->now.at, MOST_BYTES);
		f->synced.n = f->now.n;
		f->since = (size_t)k + 1;
		tell(d, f);
	}
}

/* A run that has ended well has left nothing that a stop could take. */
static int is_safe(struct disk *d)
{
	const struct file *f = records_of(d);
	int named = 0;

	for (int i = 0; f && i < d->n_synced; i++)
		named |= !strcmp(d->synced[i].name, "out.jsonl") && d->synced[i].inode == f->inode;
	return named && f->synced.n == f->now.n && !memcmp(f->synced.at, f->now.at, f->now.n);
}

/* What an unsynced operation leaves.  last: nothing of this file comes behind it. */
static void leave(struct outcome_text *t, const struct op *o, enum lost how, int last)
{
	if (o->what == 'T') {
		if (how == NONE_LOST || how == LAST_TORN || (how == SECTORS && roll(2)))
			t->n = (size_t)o->at;
		return;
	}
	switch (how) {
	case NONE_LOST:
		write_to(t, o, 0, o->n, 0);
		break;
	case LAST_TORN:
		write_to(t, o, 0, last ? o->n / 2 : o->n, 0);
		break;
	case ONLY_LAST:
		write_to(t, o, 0, o->n, !last);
		break;
	case ZEROS:
		write_to(t, o, 0, o->n, 1);
		break;
	case SECTORS:
		for (size_t from = 0, to; from < o->n; from = to) {
			to = ((size_t)o->at + from) / SECTOR * SECTOR + SECTOR - (size_t)o->at;
			to = to < o->n ? to : o->n;
			if (roll(4))
				write_to(t, o, from, to, !roll(3));
		}
		break;
	default:
		break;
	}
}

/* The files of `names` as they are found after a stop behind operation k. */
static void find(struct disk *d, int k, const struct name *names, int n_names, enum lost how)
{
	unlink("disk/out.jsonl");
	unlink("disk/out.jsonl.resume.tmp");
	for (int i = 0; i < n_names; i++) {
		struct file *f = file_of(d, names[i].inode);
		struct outcome_text t = { malloc(MOST_BYTES), f->synced.n };
		char path[96];
		int last = -1;

		memcpy(t.at, f->synced.at, MOST_BYTES);
		memset(t.at + t.n, 0, MOST_BYTES - t.n);
		for (int j = (int)f->since; j <= k; j++)
			if (ops[j].inode == f->inode && (ops[j].what == 'W' || ops[j].what == 'T'))
				last = j;
		for (int j = (int)f->since; j <= last; j++)
			if (ops[j].inode == f->inode && (ops[j].what == 'W' || ops[j].what == 'T'))
				leave(&t, &ops[j], how, j == last);
		snprintf(path, sizeof path, "disk/%.60s", names[i].name);
		outcome_put_file(path, t.at, t.n);
		free(t.at);
	}
}

/* ---- runs */

static const char batch
	[] = "infer-run' -q -m ../m.gguf -t 1 --temp 0 --batch %s --resume out.jsonl",
   bench[] =
	   "infer-bench' run -q -m ../m.gguf -t 1 -p 4 -n 2 --repeat 1 --quick --record out.jsonl";
enum { BENCH_LINES = 2 };
/* What is stopped: a batch, or a measurement. */
struct scenario {
	const char *what, *command;
	int slow;
};

static const char ask[] = "{\"id\":\"a\",\"prompt\":\"the of "
			  "and\",\"max_tokens\":3}\n{\"id\":\"b\",\"prompt\":\"the\",\"max_"
			  "tokens\":9,\"logprobs\":2}\n"
			  "{\"id\":\"c\",\"prompt\":\"of\",\"max_tokens\":2}\n{\"id\":\"d\","
			  "\"prompt\":\"take out\",\"max_tokens\":5}\n";
/* bytes of `ask` that come a second before the others: two lines and a half */
enum { EARLY = 95 };

/* slow: requests come by a pipe, so that there is a sync among the records */
static int run(const struct scenario *sc, int slow, const char *log)
{
	static char command[3 * sizeof bin];
	char what[256];
	char *const argv[] = { "sh", "-c", command, NULL };
	int status, feed[2];
	pid_t pid;

	if (sc->command == batch)
		snprintf(what, sizeof what, batch, slow ? "-" : "../ask.jsonl");
	else
		snprintf(what, sizeof what, "%s", sc->command);
	snprintf(command, sizeof command, "cd disk && %s%s%s exec '%s/%s >../stdout 2>../stderr",
	         log ? "FAULT_ROOT=. FAULT_LOG=../log LD_PRELOAD='" : "", log ? bin : "",
	         log ? "/tests/fault/fault.so'" : "", bin, what);
	if (pipe(feed) || (pid = fork()) < 0)
		outcome_die("fork");
	if (!pid) {
		dup2(feed[0], 0);
		close(feed[0]);
		close(feed[1]);
		execv("/bin/sh", argv);
		_exit(FAULT_EXIT);
	}
	close(feed[0]);
	if (slow) {
		if (write(feed[1], ask, EARLY) != EARLY || usleep(1200000) ||
		    write(feed[1], ask + EARLY, sizeof ask - 1 - EARLY) !=
		            (ssize_t)sizeof ask - 1 - EARLY)
			outcome_die("feed");
	}
	close(feed[1]);
	if (waitpid(pid, &status, 0) != pid)
		outcome_die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void read_log(struct outcome_text *log)
{
	const char *p, *end;
	int len;

	*log = outcome_take_file("log", BUFFER);
	n_ops = 0;
	for (p = log->at, end = p + log->n; p < end && n_ops < MOST_OPS; n_ops++) {
		struct op *o = &ops[n_ops];
		char name[512], *slash;

		if (sscanf(p, "%c %llu %lld %zu %511s%n", &o->what, &o->inode, &o->at, &o->n, name,
		           &len) != 5 ||
		    p[len] != '\n')
			outcome_die("the log");
		slash = strrchr(name, '/');
		snprintf(o->name, sizeof o->name, "%.60s", slash && slash[1] ? slash + 1 : name);
		o->data = p + len + 1;
		p = o->data + (o->what == 'W' ? o->n : 0);
	}
}

/* One record, and no beginning of another before it. */
static int is_record(const char *at, size_t n)
{
	const char *kind = memmem(at, n, "\"kind\":", 7);

	return kind && !memmem(kind + 1, n - (size_t)(kind + 1 - at), "\"kind\":", 7);
}

/* The records of `text`, each in `all` as it stands. */
static int has_lines(const struct outcome_text *all, const struct outcome_text *text)
{
	for (size_t from = 0, n; from < text->n; from += n) {
		const char *nl = memchr(text->at + from, '\n', text->n - from);

		if (!nl)
			return 1;
		n = (size_t)(nl - text->at) - from + 1;
		if (is_record(text->at + from, n) && !memmem(all->at, all->n, text->at + from, n))
			return 0;
	}
	return 1;
}

/* The whole records of `t`; *lines: all that a newline ends. */
static int count_records(const struct outcome_text *t, int *lines)
{
	int records = 0;

	*lines = 0;
	for (size_t from = 0, n; from < t->n; from += n) {
		const char *at = t->at + from, *nl = memchr(at, '\n', t->n - from);

		if (!nl)
			break;
		n = (size_t)(nl - at) + 1;
		records += *at == '{' && nl[-1] == '}' && is_record(at, n) && !memchr(at, 0, n);
		++*lines;
	}
	return records;
}

/* What the file of a measurement should be, found as `found` and measured once more. */
static const char *judge_lines(const struct outcome_text *out, int code,
                               const struct outcome_text *found)
{
	int lines, some, left = count_records(found, &some), all = count_records(out, &lines);

	if (code)
		return "it does not end well";
	if (all != lines || !out->n || out->at[out->n - 1] != '\n')
		return "a line is no whole record";
	if (all < BENCH_LINES)
		return "lines of the last run are not there";
	return all - BENCH_LINES > left ? "more lines than were there" : NULL;
}

/* NULL, or what is wrong after the restart. */
static const char *judge(const struct scenario *sc, int code, const struct outcome *want,
                         const struct outcome_text *found, const struct outcome_text *synced)
{
	struct outcome o = { .code = code,
		             .form = OUTCOME_LINES,
		             .err = outcome_take_file("stderr", BUFFER),
		             .out = outcome_take_file("disk/out.jsonl", BUFFER) };
	enum outcome_class class;
	const char *why =
		has_lines(&o.out, synced) ? NULL : "a line that was synced is not there as it was";

	if (sc->command == bench) {
		why = why ? why : judge_lines(&o.out, code, found);
	} else {
		outcome_plain(&o);
		if (!why)
			why = outcome_class(&o, want, 0, &class);
		if (!why && class != OUTCOME_SAME)
			why = "it does not complete the file";
	}
	if (why)
		printf("# %s: code %d, %.200s\n", why, code, o.err.at);
	outcome_fini(&o);
	return why;
}

/* ---- a run that is recorded, then stopped everywhere */

/* What the file was found as, after one operation; each way once. */
struct seen {
	struct outcome_text at[2 * (WAYS + 4)];
	int n;
};

static void forget(struct seen *s)
{
	while (s->n)
		free(s->at[--s->n].at);
}

static int is_new(struct seen *s)
{
	struct outcome_text t = outcome_take_file("disk/out.jsonl", BUFFER);

	for (int i = 0; i < s->n; i++)
		if (t.n == s->at[i].n && !memcmp(t.at, s->at[i].at, t.n)) {
			free(t.at);
			return 0;
		}
	s->at[s->n++] = t;
	return 1;
}

static void stop_each(const struct scenario *sc, const struct outcome_text *before,
                      unsigned long long inode, const struct outcome *want, int is_long)
{
	/* a measurement takes 20 times as long as a batch, most of it for the machine's limits */
	int ways = is_long ? WAYS + 4 : sc->command == bench ? LAST_TORN + 1 : WAYS;
	unsigned runs = 0, bad = 0, syncs = 0, renames = 0;
	struct disk d = { .told = { calloc(1, BUFFER), 0 } };
	struct seen seen = { .n = 0 };

	if (inode) {
		struct file *f = file_of(&d, inode);

		memcpy(f->now.at, before->at, before->n);
		f->now.n = f->synced.n = before->n;
		memcpy(f->synced.at, before->at, before->n);
		set_name(&d, "out.jsonl", inode);
		memcpy(d.synced, d.now, sizeof d.now);
		d.n_synced = d.n_now;
		tell(&d, f);
	}
	for (int k = 0; k < n_ops; k++) {
		apply(&d, k);
		syncs += ops[k].what == 'S';
		renames += ops[k].what == 'R';
		for (int how = 0; how < ways; how++)
			for (int names = 0; names < 2; names++) {
				enum lost lost = how < WAYS ? (enum lost)how : SECTORS;

				find(&d, k, names ? d.now : d.synced, names ? d.n_now : d.n_synced,
				     lost);
				if (!is_new(&seen))
					continue;
				runs++;
				if (judge(sc, run(sc, 0, NULL), want, &seen.at[seen.n - 1],
				          &d.told) &&
				    bad++ < 3)
					printf("# %s: stopped after %d of %d (%c %s), unsynced "
					       "writes: %s, unsynced names: %s\n",
					       sc->what, k + 1, n_ops, ops[k].what, ops[k].name,
					       lost_names[lost], names ? "kept" : "lost");
			}
		forget(&seen);
	}
	if (!is_safe(&d) && ++bad)
		printf("# %s: the run ended, and not all of its records are on the disk\n",
		       sc->what);
	cases++;
	bad_cases += bad > 0 || !runs;
	printf("%s %u - %s: %d operations, %u syncs, %u renames, %u restarts, %u bad\n",
	       bad || !runs ? "not ok" : "ok", cases, sc->what, n_ops, syncs, renames, runs, bad);
	disk_fini(&d);
}

static void record(const struct scenario *sc, const struct outcome_text *before,
                   const struct outcome *want, int is_long)
{
	struct outcome_text log;
	struct stat st = { .st_ino = 0 };

	unlink("log");
	unlink("disk/out.jsonl");
	if (before) {
		outcome_put_file("disk/out.jsonl", before->at, before->n);
		stat("disk/out.jsonl", &st);
	}
	if (run(sc, sc->slow, "log"))
		outcome_die(sc->what);
	read_log(&log);
	stop_each(sc, before, st.st_ino, want, is_long);
	free(log.at);
}

int main(void)
{
	const char *b = getenv("B"), *more = getenv("LONG");
	int is_long = more && *more == '1';
	char command[2 * sizeof bin];

	if (!realpath(b ? b : "build/release", bin) || !mkdtemp(dir) || chdir(dir) ||
	    mkdir("disk", 0700))
		outcome_die(dir);
	snprintf(command, sizeof command, "'%s/tests/tools/mkmodel' --vocab 700 --layers 1 m.gguf",
	         bin);
	if (system(command))
		outcome_die("mkmodel");
	outcome_put_file("ask.jsonl", ask, sizeof ask - 1);
	const struct scenario batches[] = {
		{ "a new file", batch, 0 },
		{ "a new file, with a sync among its records", batch, 1 },
		{ "a file with half a line", batch, 0 },
	}, benches[] = {
		{ "measured, a new file", bench, 0 },
		{ "measured, a file with records", bench, 0 },
		{ "measured, a file with half a line", bench, 0 },
	};
	struct outcome want = { .code = run(&batches[0], 0, NULL),
		                .form = OUTCOME_LINES,
		                .out = outcome_take_file("disk/out.jsonl", BUFFER) };
	struct outcome_text whole = outcome_take_file("disk/out.jsonl", BUFFER),
			    half = { calloc(1, BUFFER), 0 };

	outcome_plain(&want);
	if (want.code || want.n_lines != 4)
		outcome_die("the undisturbed run");
	/* the second line cut in its middle, and the third behind it */
	char *second = strchr(whole.at, '\n') + 1, *third = strchr(second, '\n') + 1,
	     *fourth = strchr(third, '\n') + 1;

	half.n = (size_t)(second - whole.at) + 200;
	memcpy(half.at, whole.at, half.n);
	memcpy(half.at + half.n, third, (size_t)(fourth - third));
	half.n += (size_t)(fourth - third);
	record(&batches[0], NULL, &want, is_long);
	record(&batches[1], NULL, &want, is_long);
	record(&batches[2], &half, &want, is_long);
	/* the file may hold records of any kind beforehand */
	record(&benches[0], NULL, NULL, is_long);
	record(&benches[1], &whole, NULL, is_long);
	whole.n -= 100;
	record(&benches[2], &whole, NULL, is_long);
	free(whole.at);
	free(half.at);
	outcome_fini(&want);
	printf("1..%u\n", cases);
	snprintf(command, sizeof command, "rm -r %s", dir);
	return chdir("/") || system(command) || bad_cases;
}
