package core

// Spending is what the learning model costs and how much of it a user may have
// in a day (UTC). It stops learning, never a chat.
type Spending struct {
	InputPrice, OutputPrice float64 // of a million tokens, in any currency
	DayTokens               int64   // 0: any number
	DayCost                 float64 // 0: any
}

// Cost of a reply, in the currency of the prices.
func (s Spending) Cost(input, output int64) float64 {
	return (float64(input)*s.InputPrice + float64(output)*s.OutputPrice) / 1e6
}
