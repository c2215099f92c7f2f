package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a headless Chromium that looks at a server.
type browser struct {
	t   *testing.T
	l   *loci
	ctx context.Context

	gateway bool // a proxy has no server for a while: that it says so is no problem
	lost    bool // the server goes away: that its addresses cannot be loaded is no problem

	mu       sync.Mutex
	problems []string // what its console said is wrong; guarded by mu
}

// chromium returns the path of the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("the page is not tried in a browser: install chromium, or name one in CHROMIUM")
	return ""
}

// The widths of a desk and of a phone.
const (
	deskWidth, deskHeight   = 1280, 860
	phoneWidth, phoneHeight = 390, 844
)

// browse opens a tab. At the end of the test its console must have said nothing bad:
// neither a script's error nor anything that the page's policy refused.
func browse(t *testing.T, l *loci, width, height int64) *browser {
	t.Helper()
	path := chromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(int(width), int(height)))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	b := &browser{t: t, l: l, ctx: ctx}
	var as []chromedp.EmulateViewportOption
	if width == phoneWidth {
		as = append(as, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	b.do("start the browser", chromedp.EmulateViewport(width, height, as...))
	var listening sync.WaitGroup
	console := chromedp.Console(ctx)
	listening.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if s := strings.ToLower(fmt.Sprintf("%+v", m)); strings.Contains(s, "error") || strings.Contains(s, "exception") {
				b.mu.Lock()
				b.problems = append(b.problems, s)
				b.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the page shows:\n%s", b.text("body"))
		}
		closeTab()
		stop()
		cancel()
		listening.Wait()
		for _, p := range b.problems {
			if strings.Contains(p, "a status of 401") || b.gateway && strings.Contains(p, "a status of 502") || b.lost && strings.Contains(p, "net::err_") { // a wrong key is told by that
				continue
			}
			t.Errorf("the browser's console says: %s", p)
		}
	})
	return b
}

func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// dark lets the system prefer dark colours, or light ones.
func (b *browser) dark(on bool) {
	b.t.Helper()
	value := map[bool]string{true: "dark", false: "light"}[on]
	b.do("prefer colours", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
		return err
	}))
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.l.url+path))
}

// eval returns what a script says as JSON.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// quoted writes a string as a script's.
func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// text is what all elements of a selector show, "" without any.
func (b *browser) text(css string) string {
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`[...document.querySelectorAll(`+quoted(css)+`)].map(e => e.innerText).join("\n")`))
	if err != nil {
		return err.Error()
	}
	return s
}

// see waits until the elements of a selector show a text.
func (b *browser) see(css, text string) {
	b.t.Helper()
	eventually(b.t, b.l, fmt.Sprintf("%q in %s; it shows %q", text, css, b.text(css)), patience, func() bool { return strings.Contains(b.text(css), text) })
}

// unsee waits until they do not.
func (b *browser) unsee(css, text string) {
	b.t.Helper()
	eventually(b.t, b.l, fmt.Sprintf("no %q in %s", text, css), patience, func() bool { return !strings.Contains(b.text(css), text) })
}

// until waits until a script says true.
func (b *browser) until(what, script string) {
	b.t.Helper()
	eventually(b.t, b.l, what, patience, func() bool { return eval[bool](b, script) })
}

func (b *browser) click(css string) {
	b.t.Helper()
	b.do("click "+css, chromedp.Click(chromedp.CSS(css), chromedp.NodeVisible))
}

func (b *browser) focus(css string) {
	b.t.Helper()
	b.do("focus "+css, chromedp.Focus(chromedp.CSS(css), chromedp.NodeVisible))
}

// key presses one key as a keyboard does: what the page takes is not typed as well.
func (b *browser) key(key string) {
	b.t.Helper()
	b.do("press "+key, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: key})
		if err != nil {
			return err
		}
		_, err = chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: key})
		return err
	}))
}

// press types where the focus is.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do("press "+keys, chromedp.KeyEvent(keys))
}

// shot is a picture of what is in view.
func (b *browser) shot() []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatalf("take a picture: %v", err)
	}
	return png
}
