#!/usr/bin/env python3
"""Compare our use of the Hugging Face cache with huggingface_hub's, against a server of our own.

usage: check-hub.py [BUILD]        BUILD: build/release

Needs the Python package huggingface_hub.  Both programs use one cache and one server, tests/tools/mockhub.  For LFS files and
plain files of two revisions: what infer-inspect pull has downloaded, huggingface_hub finds without a request for its content, and
the other way round.  A file that does not exist is known to be missing.  scan_cache_dir finds no fault, and sees what
infer-inspect list sees.  What infer-inspect rm removes is gone for both.
"""
import json, os, pathlib, subprocess, sys, tempfile

build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()
work = pathlib.Path(tempfile.mkdtemp(prefix="check-hub."))
root, cache = work / "root", work / "cache"
for name in [n for n in os.environ if n.startswith("HF_")]:
    del os.environ[name]
os.environ.update(HOME=str(work), HF_HUB_CACHE=str(cache), HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_TELEMETRY="1",
                  HF_HUB_DISABLE_PROGRESS_BARS="1", HF_HUB_DISABLE_UPDATE_CHECK="1")

ONE, TWO = "1" * 40, "2" * 40
REPO = "org/model"
files = {  # of the first commit; the second has other weights and the same config.json
    "m-Q4_K_M.gguf": b"GGUF one" * 5000,
    "sub/m-Q8_0.gguf": b"GGUF eight" * 5000,
    "config.json": b'{"model_type": "none"}\n',
    "README.md": b"# a model\n",
}
for commit in (ONE, TWO):
    for path, content in files.items():
        p = root / REPO / commit / path
        p.parent.mkdir(parents=True, exist_ok=True)
        p.write_bytes(content.replace(b"one", b"two") if commit == TWO else content)
(root / REPO / "main").write_text(ONE)
(root / REPO / "v2").write_text(TWO)

server = subprocess.Popen([build / "tests/tools/mockhub", root], stdout=subprocess.PIPE, text=True)
os.environ["HF_ENDPOINT"] = server.stdout.readline().strip()
import huggingface_hub  # reads the environment
from huggingface_hub.file_download import _CACHED_NO_EXIST

done = 0


def check(what, ok):
    global done
    if not ok:
        sys.exit(f"check-hub: {what}: NO\n{(root / '.log').read_text()[-2000:]}")
    done += 1


def pull(ref, *options, code=0):
    r = subprocess.run([build / "infer-inspect", "pull", *options, ref], capture_output=True, text=True)
    check(f"pull {ref} ends with {code}: {r.stderr}", r.returncode == code)
    return r.stdout.strip()


def requests(run):
    """What run returns, and the GETs of content that it caused."""
    (root / ".log").write_text("")
    value = run()
    return value, [line for line in (root / ".log").read_text().splitlines() if " GET " in line and "/api/models/" not in line]


def hub(path, rev="main", offline=False):
    return huggingface_hub.hf_hub_download(REPO, path, revision=rev, local_files_only=offline)


def content(commit, path):
    return (root / REPO / commit / path).read_bytes()


# ours first: LFS in a folder, LFS and plain files of two revisions
ours = {}
for rev, commit in (("main", ONE), ("v2", TWO)):
    for path in ("sub/m-Q8_0.gguf", "config.json"):
        got = pull(f"hf:{REPO}@{rev}:{path}")
        check(f"{got} is the content", pathlib.Path(got).read_bytes() == content(commit, path))
        ours[rev, path] = got
for (rev, path), got in ours.items():
    check(f"{path} of {rev} is found offline", hub(path, rev, True) == got)
    value, gets = requests(lambda: hub(path, rev))
    check(f"{path} of {rev} is found without a download: {gets}", value == got and not gets)
    check(f"try_to_load_from_cache {path}", huggingface_hub.try_to_load_from_cache(REPO, path, revision=rev) == got)

# theirs: another LFS file and another plain file
for rev, commit in (("main", ONE), ("v2", TWO)):
    for path in ("m-Q4_K_M.gguf", "README.md"):
        theirs = hub(path, rev)
        value, gets = requests(lambda: pull(f"hf:{REPO}@{rev}:{path}"))
        check(f"{path} of {rev}, theirs, is ours without a download: {gets}", value == theirs and not gets)
        os.environ["HF_HUB_OFFLINE"] = "1"
        check(f"{path} of {rev}, theirs, is found offline", pull(f"hf:{REPO}@{rev}:{path}") == theirs)
        check(f"{path} of the commit is found offline", pull(f"hf:{REPO}@{commit}:{path}") == theirs)
        del os.environ["HF_HUB_OFFLINE"]
value, gets = requests(lambda: pull(f"hf:{REPO}"))
check(f"the choice is their file: {gets}", value.endswith(f"{ONE}/m-Q4_K_M.gguf") and not gets)

# a file that does not exist
pull(f"hf:{REPO}:none.gguf", code=2)
check("our .no_exist is theirs", huggingface_hub.try_to_load_from_cache(REPO, "none.gguf") is _CACHED_NO_EXIST)
try:
    hub("theirs.gguf", "v2")
    check("a file that does not exist", False)
except huggingface_hub.errors.EntryNotFoundError:
    pull(f"hf:{REPO}@v2:theirs.gguf", code=2)

# a snapshot of theirs is complete for us, and ours for them
snapshot = huggingface_hub.snapshot_download(REPO, revision="v2")
value, gets = requests(lambda: pull(f"hf:{REPO}@v2:sub/m-Q8_0.gguf"))
check("a snapshot of theirs", value == f"{snapshot}/sub/m-Q8_0.gguf" and not gets)
value, gets = requests(lambda: huggingface_hub.snapshot_download(REPO, revision="main"))
check(f"a snapshot of ours: {gets}", not gets)

# the cache as a whole
info = huggingface_hub.scan_cache_dir()
check(f"scan_cache_dir warns: {info.warnings}", not info.warnings)
(repo,) = info.repos
listed = subprocess.run([build / "infer-inspect", "list", "--json"], capture_output=True, text=True, check=True).stdout
listed = {r["commit"]: r for r in map(json.loads, listed.splitlines())}
check("the revisions", set(listed) == {r.commit_hash for r in repo.revisions} == {ONE, TWO})
for r in repo.revisions:
    ours = listed[r.commit_hash]
    check("the branches", set(ours["refs"]) == set(r.refs))
    check("the files", sorted(f["bytes"] for f in ours["files"]) == sorted(f.size_on_disk for f in r.files))

# removal of one revision: its own contents go, shared ones stay
subprocess.run([build / "infer-inspect", "rm", f"{REPO}@v2"], capture_output=True, check=True)
info = huggingface_hub.scan_cache_dir()
check(f"after rm: {info.warnings}", not info.warnings and [r.commit_hash for x in info.repos for r in x.revisions] == [ONE])
for path in files:
    check(f"{path} stays", pathlib.Path(hub(path, offline=True)).read_bytes() == content(ONE, path))
blobs = {p.name for p in (cache / "models--org--model/blobs").iterdir()}
check("no content is left over", len(blobs) == len(files))

# removal by huggingface_hub is seen by us
huggingface_hub.scan_cache_dir().delete_revisions(ONE).execute()
listed = subprocess.run([build / "infer-inspect", "list", "--json"], capture_output=True, text=True, check=True).stdout
check("removed by huggingface_hub", not listed)
server.kill()
subprocess.run(["rm", "-rf", work], check=True)
print(f"check-hub: {done} comparisons with huggingface_hub {huggingface_hub.__version__}: equal")
