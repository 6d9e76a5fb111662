/* tests/unit/hub/test_fetch.c - downloads from a server with faults: the file, the requests, and the state
 * after a kill -9. */
#include "../left_out.h"
#include "mock.h"
#include "base/clock.h"
#include "base/rng.h"
#include "hub/range.h"

#include <errno.h>

enum { BYTES = 3 << 20, PIECE = 256 << 10, PIECES = BYTES / PIECE };
static const char file[] = "org/tiny/" MOCK_COMMIT "/m.gguf";
static const char path[] = "/org/tiny/resolve/main/m.gguf";
static unsigned char content[BYTES];

struct job {
	struct infer_hub_opts o;
	struct hub_net *n;
	struct hub_file_info i;
	int fd, again, said, cancel;
	uint64_t first, last; /* reports of the watch */
	int64_t cancelled_ns;
	int cancels;                  /* at the first new byte */
	const unsigned char *changes; /* the file on the hub, then */
	const char *modes;            /* its faults, then */
	infer_error err;
};

static void watch(void *user, uint64_t done, uint64_t all)
{
	struct job *j = user;

	assert_int_equal(all, BYTES + 1000);
	assert_true(done >= 1000 && done <= BYTES + 1000);
	if (j->first == UINT64_MAX)
		j->first = done - 1000;
	j->last = done - 1000;
	if (j->changes && j->last > j->first) {
		mock_write(file, j->changes, BYTES);
		j->changes = NULL;
	}
	if (j->modes && j->last > j->first) {
		mock_modes(j->modes);
		j->modes = NULL;
	}
	if (j->cancels && j->last > j->first) {
		j->cancel = 1;
		j->cancelled_ns = clock_now_ns();
	}
}

static void say(void *user, const char *sentence)
{
	(void)sentence;
	((struct job *)user)->said++;
}

static void begin(struct job *j)
{
	char name[128];

	*j = (struct job){
		.o.say = say, .o.watch = { watch, j }, .o.user = j, .o.cancel = &j->cancel
	};
	snprintf(name, sizeof name, "%s/part", mock_dir);
	j->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	assert_true(j->fd >= 0);
	assert_int_equal(mock_open(&j->n, &j->o, &j->err), 0);
	*hub_net_limits(j->n) =
		(struct hub_net_limits){ 60000000000, 1000000, 300000000000, PIECE, 6 };
}

static void ask(struct job *j)
{
	int found = 0;

	hub_file_info_fini(&j->i);
	if (hub_net_head(j->n, path, &j->i, &found, &j->err))
		fail_msg("%s", j->err.message);
	assert_int_equal(found, 1);
}

static int fetch(struct job *j)
{
	j->first = j->last = UINT64_MAX;
	return hub_net_fetch(j->n, &j->i, j->fd, 1000, BYTES + 1000, &j->again, &j->err);
}

static int is_whole(const struct job *j)
{
	static unsigned char got[BYTES + 1];

	return pread(j->fd, got, sizeof got, 0) == BYTES && !memcmp(got, content, BYTES);
}

static void end(struct job *j)
{
	char name[128];

	hub_file_info_fini(&j->i);
	hub_net_close(j->n);
	close(j->fd);
	snprintf(name, sizeof name, "%s/part", mock_dir);
	unlink(name);
}

/* A download of a new file under these faults, which must succeed. */
static void succeeds(struct job *j, const char *modes)
{
	begin(j);
	mock_modes("");
	ask(j);
	mock_modes(modes);
	int rc = fetch(j);

	if (rc)
		fail_msg("%s: %s", modes, j->err.message);
	assert_int_equal(j->again, 0);
	assert_true(is_whole(j));
	assert_int_equal(j->last, BYTES);
	end(j);
}

static void fails(struct job *j, const char *modes, int code, const char *message)
{
	begin(j);
	mock_modes("");
	ask(j);
	mock_modes(modes);
	int rc = fetch(j);

	if (rc != code || !strstr(j->err.message, message))
		fail_msg("%s: %d: %s", modes, rc, rc ? j->err.message : "");
	assert_false(is_whole(j));
	end(j);
}

static void test_whole(void **state)
{
	struct job j;

	(void)state;
	succeeds(&j, "");
	assert_int_equal(mock_count("206 GET cdn", "Range: bytes="), PIECES);
	/* all but the first are bound to the version of the first */
	assert_int_equal(mock_count("206 GET cdn", "If-Range: \""), PIECES - 1);
	/* the hub itself, and a file that is one piece */
	begin(&j);
	hub_net_limits(j.n)->piece = BYTES;
	mock_modes("* : direct\n");
	ask(&j);
	assert_non_null(strstr(j.i.url, mock_url));
	assert_int_equal(fetch(&j), 0);
	assert_true(is_whole(&j));
	assert_int_equal(mock_count("200 GET hub", "m.gguf"), 1);
	assert_int_equal(mock_count("Range: ", ""), 0);
	end(&j);
}

static void test_ranges_refused(void **state)
{
	struct job j;

	(void)state;
	succeeds(&j, "GET cdn * : norange\n");
	assert_int_equal(mock_count("200 GET cdn", ""), 1);
	/* a stream that breaks begins again, and what is there is not written twice */
	succeeds(&j, "GET cdn * : norange\nGET cdn * : cut=700000 times=2\n");
	assert_int_equal(mock_count("200 GET cdn", ""), 3);
	succeeds(&j, "GET cdn * : status=416 times=1\nGET cdn * : norange\n");
	assert_int_equal(mock_count("200 GET cdn", ""), 1);
	/* ranges are refused in the middle: what is there stays */
	begin(&j);
	mock_modes("");
	ask(&j);
	j.modes = "GET cdn * : norange\n";
	assert_int_equal(fetch(&j), 0);
	assert_int_equal(j.again, 0);
	assert_true(is_whole(&j));
	end(&j);
	/* connections break in the middle */
	succeeds(&j, "GET cdn * : cut=100000 times=3\n");
	assert_true(mock_count("206 GET cdn", "") >= PIECES + 3);
}

static void test_broken(void **state)
{
	struct job j;

	(void)state;
	succeeds(&j, "GET cdn * : cut=100000 times=9\n");
	succeeds(&j, "GET cdn * : status=503 times=4\n");
	succeeds(&j, "GET cdn * : status=429 times=2 retry=0\n");
	assert_int_equal(j.said, 1);
	fails(&j, "GET cdn * : status=502\n", INFER_ENET, "localhost: status 502");
	fails(&j, "GET cdn * : cut=0\n", INFER_ENET, "localhost: ");
	fails(&j, "GET cdn * : status=429 retry=3600\n", INFER_ENET, "asks to wait 3600 s");
	fails(&j, "GET cdn * : loop\n", INFER_ENET, "more than 10 redirects");
	fails(&j, "GET cdn * : bomb=70\n", INFER_ENET, "KiB of headers");
}

/* A stalled connection is opened anew, for the rest of its piece. */
static void test_stalled(void **state)
{
	struct job j;

	(void)state;
	begin(&j);
	hub_net_limits(j.n)->stall_ns = 300000000;
	hub_net_limits(j.n)->connections = 1;
	mock_modes("GET cdn * : stall=100000 times=1\n");
	ask(&j);
	assert_int_equal(fetch(&j), 0);
	assert_true(is_whole(&j));
	assert_int_equal(mock_count("GET cdn", "bytes=100000-262143"), 1);
	end(&j);
}

static void test_wrong(void **state)
{
	struct job j;
	struct stat st;

	(void)state;
	fails(&j, "GET cdn * : wrong=1000000\n", INFER_EFORMAT,
	      "sha256 of the content differs from the hub's");
	/* what is left is not taken for a beginning */
	begin(&j);
	mock_modes("GET cdn * : wrong=1000000\n");
	ask(&j);
	assert_int_equal(fetch(&j), INFER_EFORMAT);
	assert_int_equal(fstat(j.fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	end(&j);
	/* another size without ranges, which would end early; more than was asked for */
	for (int k = 0; k < 2; k++) {
		begin(&j);
		mock_modes(k ? "GET cdn * : extra=10\n"
		             : "HEAD hub * : size=4000000\nGET cdn * : norange\n");
		ask(&j);
		j.o.watch.fn = NULL;
		assert_int_equal(fetch(&j), 0);
		assert_int_equal(j.again, 1);
		if (!k) /* without another attempt */
			assert_int_equal(mock_count("GET cdn", ""), 1);
		end(&j);
	}
	/* another size */
	begin(&j);
	mock_modes("HEAD hub * : size=3000000\n");
	ask(&j);
	for (int k = 0; k < 3; k++) {
		assert_int_equal(fetch(&j), 0);
		assert_int_equal(j.again, 1);
	}
	assert_int_equal(fetch(&j), INFER_ENET);
	assert_non_null(strstr(j.err.message, "is not the one that it names"));
	end(&j);
}

/* The file changes on the hub between two ranges, and a signed address expires. */
static void test_again(void **state)
{
	static unsigned char other[BYTES];
	struct job j;
	int rounds = 0;

	(void)state;
	memcpy(other, content, BYTES);
	other[5] ^= 1;
	begin(&j);
	mock_modes("");
	ask(&j);
	hub_net_limits(j.n)->connections = 1;
	j.changes = other;
	assert_int_equal(fetch(&j), 0);
	assert_int_equal(j.again, 1);
	mock_write(file, content, BYTES);
	ask(&j);
	assert_int_equal(fetch(&j), 0);
	assert_int_equal(j.again, 0);
	assert_int_equal(j.first, 0); /* nothing of the other one is left */
	assert_true(is_whole(&j));
	end(&j);
	/* a signature is good for 3 requests; nothing is fetched twice */
	begin(&j);
	mock_modes("GET cdn * : expire=3\n");
	do {
		ask(&j);
		assert_int_equal(fetch(&j), 0);
		assert_true(++rounds < 50);
	} while (j.again);
	assert_true(rounds >= PIECES / 3);
	assert_true(is_whole(&j));
	assert_true(mock_count("403 GET cdn", "") > 0);
	end(&j);
	/* an address that is never good */
	begin(&j);
	mock_modes("GET cdn * : status=403\n");
	ask(&j);
	for (int k = 0; k < 3; k++)
		assert_int_equal(fetch(&j), 0);
	assert_int_equal(fetch(&j), INFER_ENET);
	assert_non_null(strstr(j.err.message, "the address that the hub gives is refused"));
	end(&j);
}

/* A download is canceled while the server sends nothing. */
static void test_cancel(void **state)
{
	struct job j;

	(void)state;
	begin(&j);
	mock_modes("GET cdn * : stall=70000\n");
	ask(&j);
	j.cancels = 1;
	assert_int_equal(fetch(&j), INFER_ECANCEL);
	/* far less than the server's 60 s, whatever else this machine does */
	assert_true(clock_now_ns() - j.cancelled_ns < 5000000000);
	/* nothing that was received is lost */
	uint64_t had = j.last;

	j.cancels = j.cancel = 0;
	mock_modes("");
	assert_int_equal(fetch(&j), 0);
	assert_true(j.first >= had);
	assert_true(is_whole(&j));
	end(&j);
}

/* An earlier download left a file that is damaged, of another program, or complete. */
static void test_left(void **state)
{
	static unsigned char junk[BYTES];
	struct job j;

	(void)state;
	memset(junk, 7, sizeof junk);
	for (int kind = 0; kind < 5; kind++) {
		begin(&j);
		mock_modes("");
		ask(&j);
		if (kind == 0) { /* a whole file, right */
			assert_int_equal(pwrite(j.fd, content, BYTES, 0), BYTES);
		} else if (kind == 1) { /* and wrong */
			assert_int_equal(pwrite(j.fd, junk, BYTES, 0), BYTES);
		} else if (kind == 2) { /* no footer */
			assert_int_equal(pwrite(j.fd, junk, 5000, 0), 5000);
		} else { /* what was there is damaged */
			j.cancels = 1;
			assert_int_equal(fetch(&j), INFER_ECANCEL);
			j.cancels = j.cancel = 0;
			for (int k = 0; kind == 3 && k < PIECES; k++)
				assert_int_equal(pwrite(j.fd, junk, 10, k * PIECE), 10);
			if (kind == 4) /* the beginning of another file */
				assert_int_equal(pwrite(j.fd, "x", 1, BYTES + 20), 1);
		}
		mock_modes("");
		assert_int_equal(fetch(&j), 0);
		assert_true(is_whole(&j));
		assert_int_equal(j.last, BYTES);
		assert_int_equal(j.first > 0, kind != 2 && kind != 4);
		if (kind == 0)
			assert_int_equal(mock_count("GET cdn", ""), 0);
		else
			assert_true(mock_count("GET cdn", "") >= PIECES);
		end(&j);
	}
}

static int child_pipe;
static void report(void *user, uint64_t done, uint64_t all)
{
	(void)user;
	(void)all;
	if (write(child_pipe, &done, sizeof done) < 0)
		_exit(3);
}

/* Download in another process, which is killed when it has `until` bytes.  Returns the bytes that it
 * found and those that it had, and true if it ended by itself. */
static int download_until(uint64_t until, uint64_t *found, uint64_t *had)
{
	uint64_t done;
	int status, ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct job j;

		close(ends[0]);
		child_pipe = ends[1];
		begin(&j);
		j.o.watch.fn = report;
		ask(&j);
		_exit(fetch(&j) || j.again || !is_whole(&j));
	}
	close(ends[1]);
	*found = UINT64_MAX;
	while (read(ends[0], &done, sizeof done) == sizeof done) {
		*had = done - 1000;
		if (*found == UINT64_MAX)
			*found = *had;
		if (*had >= until && *had < BYTES) {
			usleep((useconds_t)(until % 3000));
			kill(pid, SIGKILL);
			break;
		}
	}
	while (read(ends[0], &done, sizeof done) == sizeof done)
		*had = done - 1000;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return 0;
	assert_int_equal(status, 0);
	return 1;
}

static void test_killed(void **state)
{
	uint64_t found = 0, had = 0, fetched = 0, before = 0, points[21];
	char name[128];
	int kills = 0, ended = 0, fd;

	(void)state;
	for (int k = 0; k < 20; k++)
		points[k] = (uint64_t)((double)BYTES * (k + rng_unit(41, (uint64_t)k)) / 21);
	points[20] = UINT64_MAX;
	mock_modes("GET cdn * : slow=400000\n");
	for (int k = 0; !ended; k += k < 20) {
		ended = download_until(points[k], &found, &had);
		kills += !ended;
		fetched += had - found;
		/* each connection may lose a sixteenth of its piece */
		assert_true(found + 6 * PIECE / 16 >= before);
		before = had;
	}
	assert_int_equal(kills, 20);
	/* less than everything is fetched twice */
	if (fetched >= 2 * BYTES)
		fail_msg("%llu bytes for %d", (unsigned long long)fetched, BYTES);
	snprintf(name, sizeof name, "%s/part", mock_dir);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(is_whole(&(struct job){ .fd = fd }), 1);
	close(fd);
	unlink(name);
}

/* A file of git, and one without a byte. */
static int case_small(void)
{
	static const char *const paths[] = { "/org/tiny/resolve/main/config.json",
		                             "/org/tiny/resolve/main/empty" };
	char name[128], got[16];
	struct infer_hub_opts o = { .token = NULL };
	struct hub_file_info i = { .url = NULL };
	struct hub_net *n = NULL;
	infer_error err;
	int fd, found, again, rc;

	snprintf(name, sizeof name, "%s/small", mock_dir);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	nth_ok(mock_open(&n, &o, &err));
	for (int k = 0; k < 2; k++) {
		nth_ok(hub_net_head(n, paths[k], &i, &found, &err));
		nth_ok(hub_net_fetch(n, &i, fd, 0, 9, &again, &err));
		hub_file_info_fini(&i);
		assert_int_equal(pread(fd, got, sizeof got, 0), k ? 0 : 9);
		if (!k)
			assert_memory_equal(got, "{\"a\": 1}\n", 9);
	}
out:
	hub_file_info_fini(&i);
	hub_net_close(n);
	close(fd);
	return rc;
}

/* A full disk is INFER_EIO. */
static void test_disk_full(void **state)
{
	struct job j;
	int full = open("/dev/full", O_RDWR | O_CLOEXEC);

	(void)state;
	if (full < 0)
		left_out("needs /dev/full");
	begin(&j);
	mock_modes("");
	ask(&j);
	assert_int_equal(hub_net_fetch(j.n, &j.i, full, 1000, BYTES + 1000, &j.again, &j.err),
	                 INFER_EIO);
	close(full);
	end(&j);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_small),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_ranges_refused),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_disk_full),
	};

	(void)argc;
	for (size_t i = 0; i < BYTES; i++)
		content[i] = (unsigned char)(rng_unit(7, i) * 256);
	mock_init(argv[0]);
	mock_write(file, content, BYTES);
	mock_text("org/tiny/" MOCK_COMMIT "/empty", "");
	return nth_group(tests);
}
