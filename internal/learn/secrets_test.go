package learn

import (
	"strings"
	"testing"
)

// TestSecretsInTheWild lists forms from practice; [..] encloses the secret.
func TestSecretsInTheWild(t *testing.T) {
	x := strings.Repeat
	for _, c := range []struct{ message, want string }{
		{"key AGE-SECRET-KEY-1" + x("Q5", 29), "key [api key]"},
		{"SG." + x("a1", 11) + "." + x("b2", 21), "[api key]"},
		{"token hvs." + x("a1", 12) + " ok", "token [api key] ok"},
		{"gcp ya29." + x("a1", 12), "gcp [api key]"},
		{"shpat_" + x("a1", 16), "[api key]"},
		{"tskey-auth-" + x("a1", 12), "[api key]"},
		{"xapp-1-" + x("A1", 12), "[api key]"},
		{"glpat-" + x("a1", 10), "[api key]"},
		{"whsec_" + x("a1", 12), "[api key]"},
		{"Server=db;User=sa;Password=Pa55;Encrypt=yes", "Server=db;User=sa;Password=[password];Encrypt=yes"},
		{"redis://:hunter2@cache:6379/0", "redis://:[password]@cache:6379/0"},
		{"DefaultEndpointsProtocol=https;AccountKey=" + x("aB3/", 21) + "==", "DefaultEndpointsProtocol=https;AccountKey=[secret]"},
		{"https://x.example/?sig=" + x("a1", 10) + "&z=1", "https://x.example/?sig=[secret]&z=1"},
		{"the password for my router is hunter2", "the password for my router is [password]"},
		{"my wifi password is swordfish.", "my wifi password is [password]."},
		{"Passwort: geheim", "Passwort: [password]"},
		{"DB_PASSWORD=letmein", "DB_PASSWORD=[password]"},
		{"my card is 4111 1111 1111 1111 12/27 123", "my card is [card number] 12/27 123"},
		{"4111 1111 1111 1111 12", "[card number] 12"},
		{"amex 3782 822463 10005", "amex [card number]"},
		{"mc 2223003122003222.", "mc [card number]."},
		{"pin for my card is 4711", "pin for my card is [pin]"},
		{"verification code 123456", "verification code [security code]"},
		{"my seed phrase is apple table river stone cloud house green light water paper music zebra", "my seed phrase is [seed phrase]"},
		{"-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----", "[private key]"},

		// No secrets.
		{"commit 9b7cfc99c1d3a0a1f0de2c0aa4b5f6e7d8c9b0a1", ""},
		{"id 01890a5d-ac96-774b-bcce-b302099a8057", ""},
		{"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ""},
		{"ISBN 978-3-16-148410-0", ""},
		{"ISBN 9783161484100", ""},
		{"order 4000 1234 5678 9011", ""},
		{"tracking 1Z999AA10123456784", ""},
		{"order number 20260105123456", ""},
		{"at 1767600000000 ms", ""},
		{"my password is wrong", ""},
		{"my password is too long", ""},
		{"the password is required", ""},
		{"password: required", ""},
		{"password: ********", ""},
		{"password: ${DB_PASSWORD}", ""},
		{"I lost my password, what now?", ""},
		{"password managers are great", ""},
		{"a secret: I love jazz", ""},
		{"the key is to practise", ""},
		{"token limit: 128000", ""},
		{"my task-list is sk-etchy", ""},
		{"see https://example.org:8080/a@b", ""},
		{"code 123456", ""},
		{"bearer of bad news", ""},
		{"1234567890123456", ""},
		{"phone +351 912 345 678 and ana@example.org", ""},
	} {
		want := c.want
		if want == "" {
			want = c.message
		}
		got := Redact(c.message, false)
		if got != want {
			t.Errorf("Redact(%q) = %q, want %q", c.message, got, want)
		}
		if again := Redact(got, false); again != got {
			t.Errorf("Redact twice: %q becomes %q", got, again)
		}
	}
	for message, want := range map[string]string{
		"GB29 NWBK 6016 1331 9268 19 PAID":           "[bank account] PAID",
		"de89370400440532013000":                     "[bank account]",
		"DE89 3704 0044 0532 0130 01":                "DE89 3704 0044 0532 0130 01",
		"ssn 078-05-1120":                            "ssn [social security number]",
		"part 000-12-3456":                           "part 000-12-3456",
		"my passport number is X12345678":            "my passport number is [identity number]",
		"my number is 0171 2345678":                  "my number is [phone number]",
		"call me at 07700 900123":                    "call me at [phone number]",
		"I live at 221 Baker Street, Apt 4B, really": "I live at [address], really",
		"Hauptstraße 12 in Bonn":                     "[address] in Bonn",
		"room 12 on the third floor":                 "room 12 on the third floor",
		"in 2024 Main contributors met":              "in 2024 Main contributors met",
		"the year 2026 and 12,000 people":            "the year 2026 and 12,000 people",
	} {
		if got := Redact(message, true); got != want {
			t.Errorf("Redact personal (%q) = %q, want %q", message, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("password: hunter2 4111 1111 1111 1111 DE89370400440532013000")
	f.Add("my seed phrase: \xff -----BEGIN PRIVATE KEY-----")
	f.Fuzz(func(t *testing.T, s string) {
		for _, personal := range []bool{false, true} {
			end := 0
			for _, found := range findSecrets(s, personal) {
				if found.Start < end || found.End <= found.Start || found.End > len(s) {
					t.Fatalf("in %q found %+v after %d", s, found, end)
				}
				end = found.End
			}
			once := Redact(s, personal)
			if again := Redact(once, personal); again != once {
				t.Fatalf("Redact(%q) = %q, and twice %q", s, once, again)
			}
		}
	})
}
