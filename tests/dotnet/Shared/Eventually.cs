using System.Diagnostics;

namespace Tidemark.Tests.Shared;

public static class Eventually
{
    /// Asks until it holds. The limit only catches hanging.
    public static async Task Holds(Func<Task<bool>> condition, string what, int limitSeconds = 120)
    {
        var clock = Stopwatch.StartNew();
        while (!await condition())
        {
            Assert.True(clock.Elapsed.TotalSeconds < limitSeconds, $"not within {limitSeconds} s: {what}");
            await Task.Delay(50);
        }
    }
}
