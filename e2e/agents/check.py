#!/usr/bin/env python3
"""Runs coding agents through Loci and checks what it stored, learned, retired and recalled.

    agent -> Recorder -> loci serve --profile coding -> Upstream (scripted)

Each agent gets a home, a Loci and two repositories of its own, and the configuration that
docs/guide/coding-agents.md gives for it, word by word but for the port. It runs three times in
each repository, then has a session of ten messages, and a run with a sub-agent if it has a tool
for one. Of the session, what a provider could cache is checked. run.sh installs the agents; the
arguments are their names.
"""
import http.client
import http.server
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / 'docs/guide/coding-agents.md').read_text()
AGENTS = pathlib.Path(os.environ['AGENTS_DIR'])
LIMIT = 120  # seconds for one run
CHAT_ONLY = bool(os.environ.get('CHAT_ONLY'))

# How each agent is started without a terminal: its heading in the guide, and what follows the guide's command.
START = {
    'codex': ('Codex CLI', ['exec', '--skip-git-repo-check', '-s', 'danger-full-access']),
    'opencode': ('opencode', ['run']),
    'aider': ('aider', ['--no-show-model-warnings', '--yes-always', '--no-gitignore', '--no-pretty', '--no-stream', '--message']),
    'qwen': ('Qwen Code', ['--yolo']),
    'cn': ('Continue CLI', ['--auto', '-p']),
    'cline': ('Cline CLI', []),
    'pi': ('pi ', ['-p']),
}
# What goes before the message that continues the last session. aider reads its messages from standard input; Cline
# continues a session in a terminal only.
CONTINUE = {'codex': ['resume', '--last'], 'opencode': ['--continue'], 'qwen': ['--continue'], 'cn': ['--resume'], 'pi': ['--continue']}
SUBAGENTS = {'codex', 'opencode', 'qwen', 'cline'}
QUIET = {'AIDER_ANALYTICS': 'false', 'AIDER_CHECK_UPDATE': 'false', 'CLINE_TELEMETRY_DISABLED': '1',
         'CONTINUE_TELEMETRY_ENABLED': '0', 'PI_OFFLINE': '1', 'PI_TELEMETRY': '0'}

RUNS = [
    ('tern', 'I always use tabs, never spaces, and our API is called Halyard. Please list the files here.'),
    ('wren', 'Our API is called Arkham, and I use zsh. Please list the files here.'),
    ('tern', 'We renamed our API to Gannet.'),
    ('wren', 'Forget that I use zsh.'),
    ('tern', 'What is our API called?'),
    ('wren', 'What is our API called, and do I use tabs or spaces?'),
]
# Facts in the end, and whether they belong to a repository.
FACTS = {
    ('User always uses tabs', ''),
    ("User's API is named Gannet", 'tern'), ("User's API is named Arkham", 'wren'),
}
# A session of ten messages, and what is known that answers each.
SESSION = [
    ('Which database do we deploy on? Please list the files here.', 'The project deploys on PostgreSQL 16'),
    ('How do I like my commits written?', 'User likes commits written in the imperative'),
    ('Which linter runs in CI?', 'The linter in CI is ruff'),
    ('Rename the handler in the billing service. Please list the files here.', 'The billing service is owned by the payments team'),
    ('What is our test runner?', 'The test runner is Bun, not Jest'),
    ('Fix the flaky login test.', 'The login test is flaky because of the clock'),
    ('Where do the logs of the importer go?', 'The importer logs to /var/log/importer'),
    ('Which shell do I use in scripts?', 'User uses fish in scripts'),
    ('Which database did we deploy on, once more?', 'The staging database is reset every night'),
    ('Add a field to the endpoint.', 'The endpoint is versioned by date'),
]
# What the model tells its sub-agent, and what the person asked for.
DELEGATE = 'Ask a subagent to find the API\'s name.'
ORDER = 'I live in Gotham and my API is called Batcave. Read main.py and report the name of the API.'
BLOCK = re.compile(r'\{"role":"system","content":"<loci-memory>(?:[^"\\]|\\.)*"\},|,?\{"type":"(?:input_)?text","text":"<loci-memory>(?:[^"\\]|\\.)*"\},?')


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def body(self):
        if 'chunked' not in self.headers.get('Transfer-Encoding', ''):
            return self.rfile.read(int(self.headers.get('Content-Length') or 0))
        out = b''
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def send(self, status, headers, data):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serve(handler):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def recorder(loci, seen):
    """What agents talk to: it keeps what they send and how long Loci takes."""
    numbers = itertools.count()

    class Recorder(Handler):
        def do_POST(self):
            body, n, began = self.body(), str(next(numbers)), time.monotonic()
            skip = ('host', 'connection', 'content-length', 'transfer-encoding', 'upgrade')
            headers = {k: v for k, v in self.headers.items() if k.lower() not in skip} | {'X-Request-Number': n}
            conn = http.client.HTTPConnection('127.0.0.1', loci, timeout=LIMIT)
            conn.request(self.command, self.path, body, headers)
            answer = conn.getresponse()
            data = answer.read()
            if self.command == 'POST':
                seen[n] = {'sent': messages(body), 'took': time.monotonic() - began, 'status': answer.status}
            hop = ('transfer-encoding', 'content-length', 'connection')
            self.send(answer.status, [h for h in answer.getheaders() if h[0].lower() not in hop], data)
        do_GET = do_POST
    return serve(Recorder)


def messages(body):
    try:
        parsed = json.loads(body)
    except ValueError:
        return []
    said = parsed.get('messages', parsed.get('input', []))
    return said if isinstance(said, list) else [said]


def text(content):
    if isinstance(content, str):
        return content
    return '\n'.join(p.get('text', '') for p in content or [] if isinstance(p, dict))


SHELL = re.compile(r'^(shell_command|shell|exec_command|bash|run_shell_command|execute_command|run_commands?|local_shell)$', re.I)
AGENT = re.compile(r'^(\w+__)?(task|agent|spawn_agent)$', re.I)


def value(name, schema):
    """An argument of the tool that runs commands."""
    if schema.get('enum'):
        return schema['enum'][0]
    kind = schema.get('type')
    if kind == 'array':
        inner = schema.get('items') or {}
        return ['bash', '-lc', 'ls'] if name == 'command' and inner.get('type') == 'string' else [value(name, inner)]
    if kind == 'object':
        return {k: value(k, p) for k, p in schema.get('properties', {}).items() if k in schema.get('required', [])}
    if name in ('prompt', 'message', 'task'):
        return ORDER
    return {'boolean': False, 'number': 10000, 'integer': 10000}.get(kind, 'ls')


def tools(body):
    """The functions that the model may call, each with its namespace."""
    for tool in body.get('tools') or []:
        if tool.get('type') == 'namespace':
            yield from ((f, {'namespace': tool['name']}) for f in tool.get('tools', []))
        else:
            yield tool.get('function', tool), {}


def call(body):
    """The call that the scripted model makes, None for words: it lists files when the last user message asks for that."""
    last, after = '', False
    for m in messages(json.dumps(body)):
        if m.get('role') == 'tool' or str(m.get('type', '')).endswith('_output'):
            after = True
        elif m.get('role') == 'user' and text(m.get('content')):
            said = text(m['content'])
            if not said.startswith(('<environment', '# AGENTS')):
                last, after = said, False
    wanted = None if after else SHELL if 'list the files here' in last else AGENT if DELEGATE in last else None
    for f, namespace in tools(body) if wanted else ():
        if wanted.match(f.get('name', '')):
            p = f.get('parameters') or {}
            given = [k for k in p.get('properties', {}) if k in p.get('required', [])] or list(p.get('properties', {}))[:1]
            if wanted is AGENT:  # Codex requires none, and Qwen forks without a type
                given += [k for k in ('message', 'subagent_type') if k in p.get('properties', {}) and k not in given]
            arguments = {k: value(k, p['properties'][k]) for k in given}
            if 'subagent_type' in arguments:
                arguments['subagent_type'] = 'general' if f['name'] == 'task' else 'scout'
            return f['name'], json.dumps(arguments), namespace
    return None


def upstream(got):
    numbers = itertools.count()

    class Upstream(Handler):
        def do_GET(self):
            self.send(200, [('Content-Type', 'application/json')], json.dumps({'object': 'list', 'data': [{'id': 'm', 'object': 'model'}]}).encode())

        def do_POST(self):
            raw = self.body()
            if CHAT_ONLY and not self.path.endswith('/chat/completions'):
                return self.send(404, [('Content-Type', 'application/json')], b'{"detail":"Not Found"}')
            body, n = json.loads(raw), next(numbers)
            got[self.headers.get('X-Request-Number', f'loci-{n}')] = messages(raw)
            answer = responses if self.path.endswith('/responses') else completion
            events, whole = answer(n, body, call(body))
            if body.get('stream'):
                self.send(200, [('Content-Type', 'text/event-stream')], events.encode())
            else:
                self.send(200, [('Content-Type', 'application/json')], json.dumps(whole).encode())
    return serve(Upstream)


def completion(n, body, called):
    said = {'role': 'assistant', 'content': None if called else 'All right.'}
    if called:
        said['tool_calls'] = [{'index': 0, 'id': f'call_{n}', 'type': 'function', 'function': {'name': called[0], 'arguments': called[1]}}]
    base = {'id': f'c{n}', 'created': 1, 'model': body.get('model')}
    end = 'tool_calls' if called else 'stop'
    usage = {'prompt_tokens': 1000, 'completion_tokens': 10, 'total_tokens': 1010}
    chunks = [{'choices': [{'index': 0, 'delta': said, 'finish_reason': None}]},
              {'choices': [{'index': 0, 'delta': {}, 'finish_reason': end}]}, {'choices': [], 'usage': usage}]
    events = ''.join('data: ' + json.dumps(base | {'object': 'chat.completion.chunk'} | c) + '\n\n' for c in chunks) + 'data: [DONE]\n\n'
    return events, base | {'object': 'chat.completion', 'choices': [{'index': 0, 'message': said, 'finish_reason': end}], 'usage': usage}


def responses(n, body, called):
    item = {'type': 'message', 'id': f'msg_{n}', 'status': 'completed', 'role': 'assistant',
            'content': [{'type': 'output_text', 'text': 'All right.', 'annotations': []}]}
    if called:
        item = {'type': 'function_call', 'id': f'fc_{n}', 'status': 'completed', 'call_id': f'call_{n}', 'name': called[0], 'arguments': called[1]} | called[2]
    whole = {'id': f'resp_{n}', 'object': 'response', 'created_at': 1, 'status': 'completed', 'model': body.get('model'), 'output': [item],
             'usage': {'input_tokens': 1000, 'input_tokens_details': {'cached_tokens': 0}, 'output_tokens': 10,
                       'output_tokens_details': {'reasoning_tokens': 0}, 'total_tokens': 1010}}
    events = [('response.created', {'response': whole | {'status': 'in_progress', 'output': []}}),
              ('response.output_item.added', {'output_index': 0, 'item': item | {'status': 'in_progress'}}),
              ('response.output_item.done', {'output_index': 0, 'item': item}), ('response.completed', {'response': whole})]
    return ''.join(f'event: {t}\ndata: {json.dumps({"type": t, "sequence_number": i} | v)}\n\n' for i, (t, v) in enumerate(events)), whole


class Lab:
    """One agent with all that it needs."""

    def __init__(self, agent, folder):
        self.agent, self.home, self.seen, self.got = agent, folder / 'home', {}, {}
        self.home.mkdir(parents=True)
        self.up = upstream(self.got)
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        env = {'PATH': os.environ['PATH'], 'HOME': str(self.home), 'LOCI_DATA': str(folder / 'loci'), 'LOCI_ADDR': f'127.0.0.1:{self.port}',
               'LOCI_UPSTREAM_URL': f'http://127.0.0.1:{self.up.server_port}/v1'}
        self.log = open(folder / 'loci.log', 'w')
        self.loci = subprocess.Popen([os.environ['LOCI_BINARY'], 'serve', '--profile', 'coding'], env=env, stdout=self.log, stderr=self.log)
        self.wait(lambda: self.api('/health', parse=False) is not None)
        self.rec = recorder(self.port, self.seen)
        self.url = f'http://127.0.0.1:{self.rec.server_port}/v1'
        self.commands = None
        self.repos = {name: repository(folder / name) for name in ('tern', 'wren')}

    def close(self):
        for pid in pathlib.Path('/proc').glob('[0-9]*'):  # Cline leaves a daemon behind
            try:
                if f'HOME={self.home}\0'.encode() in (pid / 'environ').read_bytes() and int(pid.name) != self.loci.pid:
                    os.kill(int(pid.name), signal.SIGKILL)
            except OSError:
                pass
        self.loci.terminate()
        self.loci.wait(20)
        self.log.close()
        self.rec.shutdown()
        self.up.shutdown()

    def api(self, path, parse=True):
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.port}{path}', timeout=20) as r:
                data = r.read().decode()
        except OSError:
            return None
        return json.loads(data) if parse else data

    def wait(self, done, seconds=20):
        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            time.sleep(.1)

    def here(self, s):
        return re.sub(r'\bKEY\b', 'sk-invented', s.replace('http://127.0.0.1:7077/v1', self.url))

    def configure(self):
        """Writes the files that the guide has for the agent, and returns its commands."""
        heading = START[self.agent][0]
        section = re.search(rf'(?ms)^## {re.escape(heading)}.*?(?=^## )', GUIDE).group()
        commands = []
        for fence in re.finditer(r'(?ms)^```(\w*)\n(.*?)^```$', section):
            language, block = fence.groups()
            before = section[:fence.start()].rstrip().splitlines()[-1]
            if not language:
                commands += [self.here(line) for line in block.splitlines()]
                continue
            path = self.home / re.search(r'`~/([^`]+)`', before).group(1)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.here(block))
        if self.agent == 'aider':
            block = re.search(r'`(\.aider[^`]+)`:\n\n```yaml\n(.*?)```', GUIDE, re.S)
            for repo in self.repos.values():
                (repo / block.group(1)).write_text(block.group(2).replace('/home/ana/code/halyard', str(repo)))
        for command in commands[:-1]:
            self.run(command, [], self.home)
        return commands[-1]

    def run(self, command, more, folder, typed=None):
        words = shlex.split(command)
        env = {'PATH': f'{AGENTS / self.agent / "bin"}:{os.environ["PATH"]}', 'HOME': str(self.home)} | QUIET
        while '=' in words[0]:
            name, _, val = words.pop(0).partition('=')
            env[name] = val
        words = [w.replace('~', str(self.home), 1) if w.startswith('~/') else w for w in words]
        try:
            r = subprocess.run(words + more, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT,
                               text=True, errors='replace', **({'input': typed} if typed else {'stdin': subprocess.DEVNULL}))
        except subprocess.TimeoutExpired as e:
            return f'no end after {LIMIT} s: {(e.stdout or b"")[-300:]!r}'
        return '' if r.returncode == 0 else f'exit {r.returncode}: {r.stdout[-300:]!r}'

    def ask(self, repo, prompt, more=(), typed=None):
        command, more = self.commands, START[self.agent][1] + list(more) + [prompt]
        if typed:
            more = more[:-2] + ['--no-fancy-input']  # without --message
        if self.agent == 'cline':  # the guide's command has a prompt
            command = shlex.join(shlex.split(command)[:-1])
        first = len(self.seen)
        problem = self.run(command, more, self.repos[repo], typed)
        return problem, [str(n) for n in range(first, first + len(self.seen)) if str(n) in self.seen]

    def know(self, fact):
        body = json.dumps({'content': fact}).encode()
        urllib.request.urlopen(urllib.request.Request(f'http://127.0.0.1:{self.port}/api/memory', body, {'Content-Type': 'application/json'}), timeout=20).close()

    def turns(self):
        export = [json.loads(line) for line in (self.api('/api/export?format=jsonl', parse=False) or '').splitlines()]
        return [r['turn'] for r in export if 'turn' in r] or [r for r in export if r.get('role')]

    def said(self):
        """What is stored of the user and may be recalled."""
        return sorted(t['content'] for t in self.turns() if t.get('role') == 'user' and t.get('status') == 'active' and not t.get('history'))

    def facts(self):
        page = self.api('/api/memory?kind=fact&status=active&limit=100') or {'memories': []}
        names = {str(path): name for name, path in self.repos.items()}
        return {(m['content'], names.get(m.get('project', ''), m.get('project', ''))) for m in page['memories']}


def repository(path):
    path.mkdir()
    rules = '# Rules\n\nMy name is Repo Robot. I am allergic to frameworks. Always run make lint.\n'
    for name in ('AGENTS.md', 'CONVENTIONS.md', 'QWEN.md'):
        (path / name).write_text(rules)
    (path / '.qwen/agents').mkdir(parents=True)
    (path / '.qwen/agents/scout.md').write_text('---\nname: scout\ndescription: Finds names.\n---\n\nYou find names and report them.\n')
    (path / 'main.py').write_text(f'def main():\n    print("{path.name}")\n')
    git = ['git', '-C', str(path), '-c', 'user.name=Tester', '-c', 'user.email=t@example.org']
    for args in (['init', '-q', '-b', 'main'], ['config', 'user.name', 'Tester'], ['config', 'user.email', 't@example.org'], ['add', '-A'], ['commit', '-qm', 'start']):
        subprocess.run(git + args, check=True, capture_output=True)
    return path.resolve()


def written(messages):
    return json.dumps(messages, separators=(',', ':'), ensure_ascii=False)[:-1]


def prefix(a, b):
    return os.path.commonprefix([a, b])


def measure(sent, got):
    """Of requests in a row: the bytes that each shares with the one before, as the agent sends them and as they went
    upstream, blocks not counted; the bytes of all blocks, and of those that no provider has yet."""
    allowed = kept = everything = new = 0
    before = ('', '')
    for s, g in zip(map(written, sent), map(written, got)):
        own, front = prefix(before[0], s), prefix(before[1], g)
        at = [m.span() for m in BLOCK.finditer(g)]
        whole = min([start for start, end in at if end > len(front)] + [len(front)])
        if before[0]:
            allowed += len(own)
            kept += min(len(BLOCK.sub('', g[:whole])), len(own))
        everything += sum(end - start for start, end in at)
        new += sum(end - start for start, end in at if end > len(front))
        before = (s, g)
    return allowed, kept, everything, new


def check(agent):
    """Returns what is wrong, and a line of measurements."""
    wrong = []

    def want(what, ok, detail=''):
        if not ok:
            wrong.append(f'{what}: {detail}')

    folder = pathlib.Path(tempfile.mkdtemp(prefix=f'loci-agents-{agent}-'))
    lab = Lab(agent, folder)
    try:
        last = {}
        lab.commands = lab.configure()

        def ask(what, repo, prompt, *more):
            problem, requests = lab.ask(repo, prompt, *more)
            want(what, not problem, problem)
            want(what, requests, 'no request reached Loci')
            for n in requests:
                want(f'request {n}', lab.seen[n]['status'] == 200, lab.seen[n]['status'])
            return requests

        def holding(requests, *prompts):
            """Those with one of these messages; the agent's own errands have none, or get no memory."""
            return [n for n in requests if any(p in text(m.get('content')) for p in prompts for m in lab.seen[n]['sent'] if m.get('role') == 'user')]

        for i, (repo, prompt) in enumerate(RUNS):
            mine = holding(ask(f'run {i + 1} in {repo}', repo, prompt), prompt)
            last[repo] = json.dumps([lab.got.get(n, []) for n in mine])
            if i < 4:  # what this run taught or ended is there before the next one
                lab.wait(lambda: bool(lab.facts() & FACTS) and not (i == 3 and any('zsh' in f for f, _ in lab.facts())), 15)
                time.sleep(1)
        facts = lab.facts()
        want('learned', FACTS <= facts, f'lacks {sorted(FACTS - facts)}')
        want('retired', not [f for f, _ in facts if 'Halyard' in f or 'zsh' in f], sorted(facts))
        want('learned of files or agents', facts <= FACTS, sorted(facts - FACTS))
        kept = sorted(p for _, p in RUNS if 'zsh' not in p)  # the wish to forget takes along what it is about
        want('stored of the user', lab.said() == kept, lab.said())
        for repo, has, hasnt in (('tern', ['Gannet'], ['Arkham']), ('wren', ['Arkham', 'always uses tabs'], ['Gannet'])):
            want(f'recalled in {repo}', all(w in last.get(repo, '') for w in has), f'lacks one of {has}')
            want(f'recalled in {repo}', not any(w in last.get(repo, '') for w in hasnt), f'has one of {hasnt}')

        # A session of ten messages.
        prompts, line = [], ''
        if agent in CONTINUE or agent == 'aider':
            prompts = [p for p, _ in SESSION]
            for _, fact in SESSION:
                lab.know(fact)
            if agent == 'aider':
                requests = ask('session', 'tern', '', (), '\n'.join(prompts) + '\n')
            else:
                requests = ask('session', 'tern', prompts[0])
                for p in prompts[1:]:
                    requests += ask('session', 'tern', p, CONTINUE[agent])
            mine = holding(requests, *prompts)
            begins = [written(lab.seen[n]['sent'][:1]) for n in mine]
            mine = [n for n, b in zip(mine, begins) if b == statistics.mode(begins)]  # less errands, which have another system message
            allowed, stays, everything, new = measure([lab.seen[n]['sent'] for n in mine], [lab.got[n] for n in mine])
            want('session', len(mine) >= len(prompts), f'{len(mine)} requests')
            got = [lab.got[n] for n in mine]
            whole = CHAT_ONLY and all(b[:len(a)] == a for a, b in zip(got, got[1:]))  # translated messages have other lengths
            want('prefix of the session', allowed and (whole or stays * 100 >= allowed * 99), f'{stays} of {allowed} bytes')
            want('stored of the session', lab.said() == sorted(kept + prompts), lab.said())
            recalled = written([lab.got[n] for n in mine])
            missing = [fact for _, fact in SESSION if fact not in recalled]
            want('recalled in the session', len(missing) < 2, missing)
            line = f'; session of {len(mine)} requests: {stays} of {allowed} bytes stay in front ({100 * stays / (allowed or 1):.1f} %), ' \
                   f'{everything} bytes of memory, {new} of them new'

        # A run with a sub-agent.
        orders = []
        if agent in SUBAGENTS:
            run = ask('sub-agent', 'wren', DELEGATE)
            time.sleep(1)
            orders = [n for n in run if any(m.get('role') == 'user' and ORDER in text(m.get('content')) for m in lab.seen[n]['sent'])]
            want('sub-agent', orders, 'it sent no request')
            want('stored of a sub-agent', lab.said() == sorted(kept + prompts + [DELEGATE]), lab.said())
            want('memory of a sub-agent', all('Arkham' in written(lab.got[n]).replace(ORDER, '') for n in orders), 'it got none')
            want('learned of a sub-agent', not any('Batcave' in f or 'Gotham' in f for f, _ in lab.facts()), sorted(lab.facts()))
        want('stored of files', 'Repo Robot' not in json.dumps(lab.turns()), 'a project file')
        want('stored of tools', not [t for t in lab.turns() if t.get('role') == 'tool' and t.get('content')], 'what a tool returned')
        took = [s['took'] * 1000 for s in lab.seen.values()]
        line = f'{len(took)} requests, median {statistics.median(took or [0]):.0f} ms, slowest {max(took or [0]):.0f} ms{line}'
        if orders:
            line += f'; {len(orders)} of a sub-agent'
        return wrong, line
    finally:
        lab.close()
        if wrong and os.environ.get('KEEP'):
            (folder / 'seen.json').write_text(json.dumps({'seen': lab.seen, 'got': lab.got}, indent=1))
            print(f'kept: {folder}')
        else:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    failed = False
    for agent in sys.argv[1:]:
        wrong, line = check(agent)
        print(f'{"FAIL" if wrong else "ok  "} {agent}: {line}', flush=True)
        for w in wrong:
            print(f'     {w}', flush=True)
        failed = failed or bool(wrong)
    sys.exit(failed)


main()
