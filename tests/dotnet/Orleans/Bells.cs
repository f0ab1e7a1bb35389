namespace Tidemark.Tests.Silos;

/// A grain that reminders ring.
public interface IBell : IGrainWithStringKey
{
    Task Wind(string name, TimeSpan period);
    Task Stop(string name);
    Task<string> Wound();
    /// How often it rang in this activation.
    Task<int> Rings(string name);
}

public sealed class Bell : Grain, IBell, IRemindable
{
    readonly Dictionary<string, int> rings = [];

    public Task Wind(string name, TimeSpan period) => this.RegisterOrUpdateReminder(name, TimeSpan.Zero, period);

    public async Task Stop(string name) => await this.UnregisterReminder((await this.GetReminder(name))!);

    public async Task<string> Wound() => string.Join(" ", (await this.GetReminders()).Select(reminder => reminder.ReminderName).Order());

    public Task<int> Rings(string name) => Task.FromResult(rings.GetValueOrDefault(name));

    public Task ReceiveReminder(string name, TickStatus status)
    {
        rings[name] = rings.GetValueOrDefault(name) + 1;
        return Task.CompletedTask;
    }
}
